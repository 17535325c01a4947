#include "dispatcher/outage/outage_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "dispatcher/http/route.hpp"
#include "dispatcher/http/sender.hpp"
#include "lib/delivery/observation.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;
using delivery::Silence;
using Verdict = OutageJudge::Verdict;

constexpr std::size_t most_kept = 16384;      // attempts; further ones end as not_started
constexpr std::size_t most_counted = 100000;  // deliveries counted as affected by one outage
constexpr std::size_t most_ended = 100;       // outages not recorded yet
constexpr unsigned most_read = 500;   // webhooks with receivers that answered before this program started
constexpr auto lease_margin = 5s;     // a kept attempt is released this long before its lease ends
constexpr auto write_interval = 10s;  // between updates of an outage
constexpr auto retry_interval = 1s;   // between tries to record an ended outage
constexpr auto longest_gap = 5s;      // between two calls of judge()
constexpr auto week = std::chrono::hours(7 * 24);
constexpr auto day = std::chrono::hours(24);

std::string name_of_dispatcher() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

std::string url_of(const std::string& host) { return "https://" + host + "/"; }

}  // namespace

OutageWatch::OutageWatch(const config::DeliverySettings& settings, const platform::Log& log,
                         const Metrics& metrics, Sender& sender)
    : log_(log),
      metrics_(metrics),
      sender_(sender),
      random_(std::random_device{}()),
      settings_(settings),
      sides_{Side{store::OutageKind::network, Request::Purpose::handshake, week,
                  OutageJudge({.longest = settings.outage_max})},
             Side{store::OutageKind::names, Request::Purpose::lookup, day,
                  OutageJudge({.places = 5, .longest = settings.outage_max})}},
      dispatcher_(name_of_dispatcher()) {}

OutageWatch::Side& OutageWatch::side_of(Silence silence) {
  return sides_[silence == Silence::network ? 0 : 1];
}

bool OutageWatch::outage() const {
  return std::ranges::any_of(sides_, [](const Side& side) { return side.outage.has_value(); });
}

std::vector<Attempt> OutageWatch::judge(std::vector<Attempt> attempts, platform::MonotonicTime now) {
  std::vector<Attempt> result;
  // Checks come last: a sign of life in the same batch counts before a check that failed.
  const auto checks =
      std::ranges::stable_partition(attempts, [](const Attempt& one) { return !one.observed; });
  for (auto& attempt : std::ranges::subrange(attempts.begin(), checks.begin())) {
    note(attempt);
    (attempt.silence == Silence::none ? result : kept_).push_back(std::move(attempt));
  }
  for (const auto& check : checks) note_check(check);
  // In a long gap no checks were made, so the time that has passed proves nothing.
  if (now > judged_ + longest_gap) std::ranges::move(give_up(), std::back_inserter(result));
  for (auto& side : sides_) {
    begin_checks(side, now);
    follow(side, now);
  }
  release_judged(now, result);
  judged_ = now;
  return result;
}

std::vector<Attempt> OutageWatch::give_up() {
  for (auto& attempt : kept_) attempt.transport = TransportResult::not_started;
  return std::exchange(kept_, {});
}

void OutageWatch::note(const Attempt& attempt) {
  auto& network = side_of(Silence::network).judge;
  auto& names = side_of(Silence::names);
  const auto entity = attempt.delivery.entity;
  if (attempt.heard) network.heard(*attempt.heard);
  if (attempt.silence == Silence::network) {
    network.silent(attempt.host, entity, attempt.ended);
    network.wait_for_sign(attempt.ended);
  }
  if (attempt.silence == Silence::names) {
    // The silence of a host counts only if it has answered within known_for before.
    if (hosts_.seen_since(attempt.host, attempt.ended - names.known_for))
      names.judge.silent(attempt.host, entity, attempt.ended);
    names.judge.wait_for_sign(attempt.ended);
  }
  if (attempt.name_answered) names.judge.heard(*attempt.name_answered);
  if (attempt.transport != TransportResult::answered || !attempt.address) return;
  if (const auto address = platform::IpAddress::parse(*attempt.address))
    hosts_.note(attempt.host, entity, *address, attempt.ended);
}

/// Silence outweighs an earlier sign of life.
void OutageWatch::note_check(const Attempt& check) {
  const auto side =
      std::ranges::find_if(sides_, [&](Side& one) { return one.checks.erase(check.observed) > 0; });
  if (side == sides_.end()) return;
  const auto began = check.ended - check.duration;
  const auto& heard = side->kind == store::OutageKind::network ? check.heard : check.name_answered;
  if (check.silence != Silence::none) {
    side->judge.silent(check.host, check.delivery.entity, check.ended);
    side->judge.check_failed(began, check.ended);
  } else if (heard) {
    side->judge.heard(*heard);
  } else {
    // This host could not make the check (descriptors, memory), or the check shows nothing: the address
    // policy forbids every address of the host (may_connect), or no name server was asked, for example
    // because /etc/hosts has the name. In the second case other hosts are checked.
    side->judge.check_told_nothing(began);
    if (check.transport != TransportResult::local_failure) hosts_.forget(check.host);
  }
}

void OutageWatch::begin_checks(Side& side, platform::MonotonicTime now) {
  side.judge.know(hosts_.entities());
  const auto wanted = side.judge.wanted_checks(now);
  if (wanted == 0) return;
  // Silent hosts come last, because an entity may keep some of its own hosts silent on purpose. During an
  // outage they are asked like the others, because the first hosts to answer at its end may be noted as
  // silent.
  const auto use = [&](const std::string& host) {
    using enum KnownHosts::Use;
    const bool handshake = side.purpose == Request::Purpose::handshake;
    if (!handshake && route_of(url_of(host), settings_.host_overrides).name.empty()) return never;
    return !side.judge.outage() && side.judge.is_silent(host) ? last : first;
  };
  std::vector<Request> requests;
  for (auto& host : hosts_.pick(now - side.known_for, wanted, now, random_, use)) {
    Request request;
    request.purpose = side.purpose;
    request.url = url_of(host.host);
    request.host = std::move(host.host);
    request.delivery.entity = host.entity;
    request.address = host.address;
    request.observed = std::make_shared<delivery::Observation>();
    side.checks.insert(request.observed);
    requests.push_back(std::move(request));
  }
  side.judge.checking(static_cast<unsigned>(requests.size()), now);
  sender_.submit(std::move(requests));
}

/// Notices the beginning and the end of an outage.
void OutageWatch::follow(Side& side, platform::MonotonicTime now) {
  const auto since = side.judge.outage();
  metrics_.outages.at(static_cast<std::size_t>(side.kind)).set(since ? 1 : 0);
  if (since && !side.outage) {
    side.outage = Outage{.kind = side.kind, .since = *since};
    log_.error("outage of our own: deliveries are delayed, and no failure counts",
               {{"kind", name(side.kind)}, {"for_s", (now - *since) / 1s}});
  } else if (!since && side.outage) {
    log_.warning("outage of our own is over: what was delayed is sent now",
                 {{"kind", name(side.kind)},
                  {"lasted_s", (now - side.outage->since) / 1s},
                  {"deliveries", side.outage->affected.size()}});
    ended_.push_back({*std::exchange(side.outage, std::nullopt), now});
    // Not the oldest: it may have begun before the database was away, and then its row has no end yet.
    if (ended_.size() > most_ended) ended_.pop_back();
  }
}

void OutageWatch::release_judged(platform::MonotonicTime now, std::vector<Attempt>& into) {
  if (kept_.empty()) return;
  std::vector<Attempt> open;
  for (auto& attempt : kept_) {
    auto& side = side_of(attempt.silence);
    auto verdict = side.judge.judge(attempt.ended - attempt.duration, attempt.ended, now);
    // The result must be recorded before the lease ends and another dispatcher may claim the delivery.
    if (verdict == Verdict::open && now + lease_margin >= attempt.lease_until) verdict = Verdict::theirs;
    if (verdict == Verdict::open && open.size() < most_kept) {
      open.push_back(std::move(attempt));
      continue;
    }
    if (verdict == Verdict::open) attempt.transport = TransportResult::not_started;
    attempt.counted = verdict != Verdict::ours;
    if (!attempt.counted && side.outage && side.outage->affected.size() < most_counted)
      side.outage->affected.insert(attempt.delivery.id);
    into.push_back(std::move(attempt));
  }
  kept_ = std::move(open);
}

void OutageWatch::record(store::Session& session, platform::MonotonicTime now) {
  if (now >= read_known_at_) {
    read_known_at_ = now + write_interval;  // set first, so that an error does not keep outages unrecorded
    read_known(session, now);
    read_known_at_ = platform::MonotonicTime::max();
  }
  while (!ended_.empty() && now >= ended_.front().outage.written + retry_interval) {
    write(session, ended_.front().outage, now, ended_.front().at);
    ended_.pop_front();
  }
  for (auto& side : sides_) {
    if (side.outage && now >= side.outage->written + write_interval)
      write(session, *side.outage, now, std::nullopt);
  }
}

/// Reads from the database which receivers answered before this program started. An operator may well restart
/// the program during an outage, and then the new process needs hosts to check.
void OutageWatch::read_known(store::Session& session, platform::MonotonicTime now) {
  for (const auto& known : store::find_answering(session, week, most_read)) {
    const auto address = platform::IpAddress::parse(known.address);
    const auto host = webhook::host_and_port(known.url);
    if (address && webhook::may_connect(*address, webhook::host_name(host), settings_))
      hosts_.note(host, known.entity, *address, now - known.ago);
  }
}

void OutageWatch::write(store::Session& session, Outage& outage, platform::MonotonicTime now,
                        std::optional<platform::MonotonicTime> ended) {
  const auto ago = [now](platform::MonotonicTime time) {
    return std::chrono::duration_cast<platform::Milliseconds>(now - time);
  };
  outage.written = now;  // set first, so that after an error the next try does not come at once
  if (!outage.row) outage.row = store::begin_outage(session, dispatcher_, outage.kind, ago(outage.since));
  const auto over = ended ? std::optional(ago(*ended)) : std::nullopt;
  store::update_outage(session, *outage.row, outage.affected.size(), over);
}

}  // namespace dispatcher
