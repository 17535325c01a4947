#include "dispatcher/diagnoses/diagnoses.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "dispatcher/diagnoses/test_requests.hpp"
#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/request.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/store/session/errors.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/signature.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

using delivery::DiagnosisStop;
using delivery::TestRequestKind;
using platform::monotonic_now;
using store::DiagnosisUpdate;
using namespace std::chrono_literals;

constexpr unsigned looked_at = 16;  // diagnoses that one search returns at most
/// In each round, the time to advance running diagnoses, and also the time to begin others.
constexpr auto slice = 10ms;
constexpr auto paused_wait = 1s;
/// A diagnosis ends when more than this number of its requests have come back unsent. A request usually comes
/// back because it has waited 1 s for a connection.
constexpr unsigned most_handed_back = 30;

bool is_unverifiable(const store::Target& target, const webhook::KeyRing& keys) {
  const auto secret = target.secret ? keys.open(target.webhook, *target.secret) : std::nullopt;
  return secret && !webhook::is_verifiable(*secret);
}

/// For a network's thread that has only test requests in flight.
config::DeliverySettings of_diagnoses(config::DeliverySettings settings) {
  settings.max_in_flight = most_test_requests;
  return settings;
}

}  // namespace

Diagnoses::Diagnoses(const config::DeliverySettings& settings, const platform::Log& log,
                     const std::vector<std::string>& database_hosts)
    : settings_(of_diagnoses(settings)),
      hidden_(webhook::operators_networks(settings)),
      log_(log),
      sender_(settings_, attempts_, database_hosts),
      random_(std::random_device{}()) {}

void Diagnoses::take_ended() {
  for (const auto& attempt : attempts_.take()) ended(attempt);
}

void Diagnoses::ended(const Attempt& attempt) {
  const auto found = running_.find(attempt.delivery.lease);
  if (found == running_.end()) return;
  auto& running = found->second;
  const auto awaited = std::ranges::find(running.awaited, attempt.observed, &Awaited::observed);
  if (awaited == running.awaited.end()) return;
  const auto test_request = awaited->test_request;
  running.awaited.erase(awaited);
  if (attempt.transport == TransportResult::not_started) {
    ++running.handed_back;
    if (test_request.kind == TestRequestKind::genuine) running.sent = false;
  } else if (attempt.transport == TransportResult::local_failure) {
    running.failed = true;
  } else {
    running.diagnosis.note(test_request, attempt);
  }
}

bool Diagnoses::work(const Round& round) {
  const bool more_answers = advance(round);
  const bool more_asked = begin(round);
  return more_answers || more_asked;
}

/// Advances diagnoses that await no result, each in its turn. True: there was no time for all of them.
bool Diagnoses::advance(const Round& round) {
  const auto until = monotonic_now() + slice;
  auto next = running_.upper_bound(served_);
  for (auto left = running_.size(); left > 0; --left) {
    if (next == running_.end()) next = running_.begin();
    const auto one = next++;
    if (!one->second.awaited.empty()) continue;
    if (monotonic_now() >= until) return true;
    served_ = one->first;
    isolate(
        one->second.webhook, [&] { advance(round, one); }, [&] { forget(one); });
  }
  return false;
}

/// Calls `work`. If the database refuses a write, calls `give_up`, so that the other diagnoses go on.
template <class F, class G>
void Diagnoses::isolate(delivery::WebhookId webhook, F&& work, G&& give_up) {
  try {
    work();
  } catch (const store::Refused& error) {
    log_.error("the database refuses a diagnosis; the others go on",
               {{"webhook", webhook}, {"error", error.what()}});
    give_up();
  }
}

unsigned Diagnoses::running_of(delivery::EntityId entity) const {
  return static_cast<unsigned>(
      std::ranges::count_if(running_, [entity](const auto& one) { return one.second.entity == entity; }));
}

bool Diagnoses::begin(const Round& round) {
  const auto now = monotonic_now();
  if (!round.may_begin && !round.ready.paused) return false;
  if (!round.ready.asked_diagnoses || now < next_look_) return false;
  next_look_ = now + paused_wait;  // also if what follows throws
  const auto asked = store::find_asked_diagnoses(round.session, after_, looked_at);
  auto wait = settings_.poll_interval;
  for (const auto& target : asked) {
    if (monotonic_now() >= now + slice && target.target.webhook != asked.front().target.webhook) {
      next_look_ = now;
      return true;
    }
    after_ = target.target.webhook;
    isolate(
        target.target.webhook, [&] { wait = std::max(wait, begin_one(round, target)); },
        [&] { wait = std::max<platform::Milliseconds>(wait, paused_wait); });
  }
  if (asked.size() < looked_at) after_ = 0;
  next_look_ = now + wait;
  return false;
}

/// Begins a diagnosis. If something delays the diagnosis, returns how long to wait before the next search;
/// otherwise 0.
platform::Milliseconds Diagnoses::begin_one(const Round& round, const store::DiagnosisTarget& target) {
  const auto webhook = target.target.webhook;
  if (!target.diagnosable || target.overdue) {
    const auto why = target.diagnosable ? DiagnosisStop::not_begun : DiagnosisStop::disabled;
    store::fail_asked_diagnosis(round.session, webhook, to_json(delivery::stopped_findings(why)));
    return {};
  }
  if (!round.may_begin || round.outage) return paused_wait;
  if (!target.event) return paused_wait;  // only a newer release knows the webhook's events
  const auto& parts = round.ready.paused_parts;
  if (parts.time_left(target.entity, webhook, target.target.url, monotonic_now()).count() > 0)
    return paused_wait;
  if (running() >= most_diagnoses) return paused_wait;  // forget() ends the wait
  if (running_of(target.entity) >= most_of_entity) return {};
  const auto lease = random_();
  if (store::claim_diagnosis(round.session, webhook, lease, settings_.lease) != DiagnosisUpdate::done)
    return {};
  const auto now = platform::utc_now();
  const bool unverifiable = is_unverifiable(target.target, round.keys);
  const auto one =
      running_
          .try_emplace(lease, Running{.webhook = webhook,
                                      .entity = target.entity,
                                      .messages = random_(),
                                      .diagnosis = {{.url = target.target.url,
                                                     .has_secret = target.target.secret.has_value(),
                                                     .weak_secret = target.weak_secret,
                                                     .hidden = hidden_,
                                                     .connection_life = longest_life,
                                                     .unverifiable_secret = unverifiable},
                                                    settings_,
                                                    now},
                                      .began = monotonic_now(),
                                      .occurred = now})
          .first;
  isolate(
      webhook, [&] { advance(round, one); }, [&] { forget(one); });
  return {};
}

void Diagnoses::advance(const Round& round, All::iterator one) {
  auto& running = one->second;
  const auto test_requests = running.diagnosis.next();
  if (test_requests.empty()) return finish(round.session, one, {});
  const auto leased_at = monotonic_now();
  const auto renewal = store::renew_diagnosis(round.session, running.webhook, one->first, settings_.lease);
  if (renewal == DiagnosisUpdate::locked) return;  // the next round tries again
  const auto target = renewal == DiagnosisUpdate::done
                          ? store::find_diagnosis_target(round.session, running.webhook)
                          : std::nullopt;
  if (!target) return forget(one);
  auto stop = obstacle(round, running, *target);
  if (!stop && !ask(round, one, *target, test_requests, leased_at)) stop = DiagnosisStop::unreadable_secret;
  if (stop) finish(round.session, one, stop);
}

std::optional<DiagnosisStop> Diagnoses::obstacle(const Round& round, const Running& running,
                                                 const store::DiagnosisTarget& target) const {
  using enum DiagnosisStop;
  if (!target.diagnosable) return disabled;
  if (!target.event) return interrupted;  // only a newer release knows the webhook's events
  if (target.target.url != running.diagnosis.subject().url) return url_changed;
  if (running.failed) return interrupted;
  const auto host = webhook::host_and_port(target.target.url);
  if (!webhook::may_reach(webhook::host_name(host), settings_)) return sandbox;
  if (round.outage) return outage;
  if (running.handed_back > most_handed_back) return not_begun;
  const auto& parts = round.ready.paused_parts;
  if (round.ready.paused ||
      parts.time_left(target.entity, running.webhook, target.target.url, monotonic_now()).count() > 0)
    return paused;
  return std::nullopt;
}

/// Sends the test requests. False: a secret cannot be read.
bool Diagnoses::ask(const Round& round, All::iterator one, const store::DiagnosisTarget& target,
                    const std::vector<delivery::TestRequest>& test_requests,
                    platform::MonotonicTime leased_at) {
  auto& [lease, running] = *one;
  Request prepared;
  if (!open_secrets(prepared, target.target, round.keys)) return false;
  prepared.delivery.webhook = running.webhook;
  prepared.delivery.entity = target.entity;
  prepared.delivery.lease = lease;
  prepared.delivery.event = *target.event;
  prepared.url = target.target.url;
  prepared.host = webhook::host_and_port(prepared.url);
  prepared.read_at = leased_at;
  prepared.lease_until = leased_at + settings_.lease;
  std::vector<Request> requests;
  std::vector<Awaited> awaited;
  for (const auto& test_request : test_requests) {
    auto& request = requests.emplace_back(prepared);
    fill_in(request, test_request, running, target);
    awaited.push_back({test_request, request.observed});
  }
  sender_.submit(std::move(requests));
  running.awaited = std::move(awaited);  // only now: what is above may throw
  running.sent = running.sent || is_post(test_requests.front().kind);
  return true;
}

void Diagnoses::fill_in(Request& request, const delivery::TestRequest& test_request, Running& running,
                        const store::DiagnosisTarget& target) {
  const auto kind = test_request.kind;
  request.observed = std::make_shared<delivery::Observation>();
  if (kind == TestRequestKind::lookup) request.purpose = Request::Purpose::lookup;
  if (kind == TestRequestKind::handshake) {
    request.purpose = Request::Purpose::handshake;
    request.address = test_request.address;
  }
  if (!is_post(kind)) return;
  const bool repeated = kind == TestRequestKind::repeated;
  request.body = repeated ? running.genuine : body_of(kind, target, running.occurred);
  request.headers = headers_of(request, kind, message_id(running.messages, kind), platform::utc_now(),
                               crypto::random_bytes(4 * wrong_signature_bytes));
  if (kind != TestRequestKind::genuine) return;
  running.genuine = request.body;
  request.new_connection = true;  // the diagnosis must know the connection's age
}

void Diagnoses::finish(store::Session& session, All::iterator one, std::optional<DiagnosisStop> why) {
  const auto& [lease, running] = *one;
  const auto findings = why ? running.diagnosis.findings(*why) : running.diagnosis.findings();
  const std::string_view state = why ? "fallido" : "terminado";
  const auto took = std::chrono::duration_cast<platform::Milliseconds>(monotonic_now() - running.began);
  const auto written = store::finish_diagnosis(session, running.webhook, lease, state, to_json(findings));
  if (written == DiagnosisUpdate::locked) return;  // the next round tries again
  if (written == DiagnosisUpdate::done)
    log_.info(
        "a receiver was diagnosed",
        {{"webhook", running.webhook},
         {"state", state},
         {"bad", std::ranges::count(findings, delivery::CheckResult::bad, &delivery::CheckedItem::result)},
         {"duration_ms", took.count()}});
  forget(one);
}

/// Ends the wait of those that had no slot.
void Diagnoses::forget(All::iterator one) {
  running_.erase(one);
  next_look_ = {};
}

void Diagnoses::stop(store::Session* session) {
  sender_.stop_starting();
  for (auto next = running_.begin(); next != running_.end();) {
    const auto one = next++;
    auto& running = one->second;
    if (running.sent && !running.awaited.empty()) continue;
    if (session != nullptr && running.sent) {
      const bool done = running.diagnosis.next().empty();
      finish(*session, one, done ? std::nullopt : std::optional(DiagnosisStop::interrupted));
      continue;
    }
    const bool locked = session != nullptr && store::release_diagnosis(*session, running.webhook,
                                                                       one->first) == DiagnosisUpdate::locked;
    if (!locked) forget(one);
  }
}

}  // namespace dispatcher
