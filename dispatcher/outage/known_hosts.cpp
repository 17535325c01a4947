#include "outage/known_hosts.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace dispatcher {

void KnownHosts::note(const std::string& host, delivery::EntityId entity, const platform::IpAddress& address,
                      platform::MonotonicTime now) {
  if (const auto known = hosts_.find(host); known != hosts_.end()) {
    known->second.address = address;
    known->second.seen = std::max(known->second.seen, now);
    return;
  }
  auto& count = by_entity_[entity];
  if (count >= most_of_entity) return;
  ++count;
  hosts_.emplace(host, Host{host, entity, address, now, {}});
  if (hosts_.size() > most) forget_oldest();
}

bool KnownHosts::seen_since(const std::string& host, platform::MonotonicTime since) const {
  const auto known = hosts_.find(host);
  return known != hosts_.end() && known->second.seen >= since;
}

std::vector<KnownHosts::Host> KnownHosts::pick(std::size_t count, platform::MonotonicTime since,
                                               platform::MonotonicTime now, std::mt19937_64& random,
                                               const Judge& use) {
  struct Candidate {
    Use use;
    platform::MonotonicTime asked;
    Host* host;
  };
  std::vector<Candidate> candidates;
  for (auto& [name, host] : hosts_) {
    if (host.seen < since) continue;
    if (const auto of_host = use(name); of_host != Use::never)
      candidates.push_back({of_host, host.asked, &host});
  }
  std::ranges::shuffle(candidates, random);
  std::ranges::stable_sort(candidates, [](const auto& one, const auto& other) {
    return std::tie(one.use, one.asked) < std::tie(other.use, other.asked);
  });
  std::set<delivery::EntityId> entities;
  std::vector<Host> result;
  for (const auto& candidate : candidates) {
    if (result.size() == count) break;
    if (!entities.insert(candidate.host->entity).second) continue;
    candidate.host->asked = now;
    result.push_back(*candidate.host);
  }
  return result;
}

/// A tenth at once, so that not every new one costs a search.
void KnownHosts::forget_oldest() {
  std::vector<platform::MonotonicTime> seen;
  seen.reserve(hosts_.size());
  for (const auto& [name, host] : hosts_) seen.push_back(host.seen);
  const auto tenth = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 10);
  std::ranges::nth_element(seen, tenth);
  std::erase_if(hosts_, [&](const auto& one) {
    if (one.second.seen > *tenth) return false;
    if (--by_entity_[one.second.entity] == 0) by_entity_.erase(one.second.entity);
    return true;
  });
}

}  // namespace dispatcher
