#include "dispatcher/outage/known_hosts.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace dispatcher {

namespace {

/// A host without an answer for this long may be replaced by another host of its entity.
constexpr auto makes_way_after = std::chrono::hours(1);

}  // namespace

void KnownHosts::note(const std::string& host, delivery::EntityId entity, const platform::IpAddress& address,
                      platform::MonotonicTime now) {
  if (const auto known = hosts_.find(host); known != hosts_.end()) {
    known->second.address = address;
    known->second.seen = std::max(known->second.seen, now);
    return;
  }
  auto& own = entities_[entity];
  if (own.hosts.size() >= most_of_entity && !make_way(own, now)) return;
  own.hosts.push_back(host);
  hosts_.emplace(host, Host{host, entity, address, now, {}});
  if (hosts_.size() > most) forget_oldest();
}

bool KnownHosts::make_way(Entity& entity, platform::MonotonicTime now) {
  const auto seen = [this](const std::string& host) { return hosts_.at(host).seen; };
  const auto oldest = std::ranges::min_element(entity.hosts, {}, seen);
  if (now - seen(*oldest) < makes_way_after) return false;
  hosts_.erase(*oldest);
  entity.hosts.erase(oldest);
  return true;
}

void KnownHosts::forget(const std::string& host) {
  const auto known = hosts_.find(host);
  if (known == hosts_.end()) return;
  const auto entity = entities_.find(known->second.entity);
  std::erase(entity->second.hosts, host);
  if (entity->second.hosts.empty()) entities_.erase(entity);
  hosts_.erase(known);
}

bool KnownHosts::seen_since(const std::string& host, platform::MonotonicTime since) const {
  const auto known = hosts_.find(host);
  return known != hosts_.end() && known->second.seen >= since;
}

std::vector<KnownHosts::Host> KnownHosts::pick(platform::MonotonicTime since, std::size_t count,
                                               platform::MonotonicTime now, std::mt19937_64& random,
                                               const Judge& use) {
  std::vector<Choice> candidates;
  for (const auto& [id, entity] : entities_) {
    if (const auto best = best_of(entity, since, use)) candidates.push_back(*best);
  }
  std::ranges::shuffle(candidates, random);
  std::ranges::stable_sort(candidates, [](const auto& one, const auto& other) {
    return std::tie(one.use, one.entity_asked) < std::tie(other.use, other.entity_asked);
  });
  if (candidates.size() > count) candidates.resize(count);
  std::vector<Host> result;
  for (const auto& candidate : candidates) {
    candidate.host->asked = now;
    entities_.at(candidate.host->entity).asked = now;
    result.push_back(*candidate.host);
  }
  return result;
}

std::optional<KnownHosts::Choice> KnownHosts::best_of(const Entity& entity, platform::MonotonicTime since,
                                                      const Judge& use) {
  std::optional<Choice> best;
  for (const auto& name : entity.hosts) {
    auto& host = hosts_.at(name);
    if (host.seen < since) continue;
    const auto of_host = use(name);
    if (of_host == Use::never) continue;
    if (!best || std::tie(of_host, host.asked) < std::tie(best->use, best->host->asked))
      best = Choice{of_host, entity.asked, &host};
  }
  return best;
}

/// Forgets a tenth of the hosts at once, so that the search for the oldest is rare.
void KnownHosts::forget_oldest() {
  std::vector<std::pair<platform::MonotonicTime, std::string>> seen;
  seen.reserve(hosts_.size());
  for (const auto& [name, host] : hosts_) seen.emplace_back(host.seen, name);
  const auto tenth = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 10);
  std::ranges::nth_element(seen, tenth);
  std::for_each(seen.begin(), tenth, [this](const auto& oldest) { forget(oldest.second); });
}

}  // namespace dispatcher
