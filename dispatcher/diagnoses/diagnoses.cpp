#include "dispatcher/diagnoses/diagnoses.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/request.hpp"
#include "dispatcher/http/sender.hpp"
#include "dispatcher/schedule/leased_batch.hpp"
#include "dispatcher/schedule/waits.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/store/session/errors.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/notification_body.hpp"
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

std::string message_id(std::uint64_t messages, TestRequestKind kind) {
  // The repeated request has the id of the genuine one.
  const auto number =
      static_cast<unsigned>(kind == TestRequestKind::repeated ? TestRequestKind::genuine : kind);
  return "msg_diagnostico_" + std::to_string(messages) + "_" + std::to_string(number);
}

webhook::DiagnosisBody body_kind(TestRequestKind kind) {
  using enum webhook::DiagnosisBody;
  switch (kind) {
    case TestRequestKind::wrong_signature:
    case TestRequestKind::no_signature:
    case TestRequestKind::old_timestamp:
      return refused;
    case TestRequestKind::large_body:
      return large;
    default:
      return accepted;
  }
}

bool is_unverifiable(const store::Target& target, const webhook::KeyRing& keys) {
  const auto secret = target.secret ? keys.open(target.webhook, *target.secret) : std::nullopt;
  return secret && !webhook::is_verifiable(*secret);
}

bool is_request(TestRequestKind kind) {
  return kind != TestRequestKind::lookup && kind != TestRequestKind::handshake;
}

std::string body_of(TestRequestKind kind, const store::DiagnosisTarget& target, platform::UtcTime occurred) {
  const auto check = name(delivery::check_of(kind));
  if (kind == TestRequestKind::rewritten)
    return webhook::rewritten_diagnosis_body(*target.event, occurred, target.entity, check);
  if (kind == TestRequestKind::old_timestamp) occurred -= delivery::old_by;
  const auto data = webhook::diagnosis_data(target.entity, target.entity_name, check, body_kind(kind));
  const auto event = kind == TestRequestKind::unknown_event ? webhook::unknown_event : name(*target.event);
  return webhook::notification_body(event, occurred, data);
}

}  // namespace

Diagnoses::Diagnoses(const platform::DeliverySettings& settings, const platform::Log& log, Sender& sender)
    : settings_(settings),
      hidden_(webhook::operators_networks(settings)),
      log_(log),
      sender_(sender),
      random_(std::random_device{}()) {}

void Diagnoses::ended(const Attempt& attempt) {
  const auto found = running_.find(attempt.test_request->diagnosis);
  if (found == running_.end()) return;
  auto& running = found->second;
  --running.awaited;
  if (attempt.transport == TransportResult::not_started) {
    ++running.handed_back;
    if (attempt.test_request->kind == TestRequestKind::genuine) running.sent = false;
  } else if (attempt.transport == TransportResult::local_failure) {
    running.failed = true;
  } else {
    running.diagnosis.note(attempt);
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
    if (one->second.awaited > 0) continue;
    if (monotonic_now() >= until) return true;
    served_ = one->first;
    isolate(
        one->second.webhook, [&] { advance(round, one); }, [&] { forget(round.slots, one); });
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
  if (parts.left(target.entity, webhook, target.target.url, monotonic_now()).count() > 0) return paused_wait;
  Grants grants(round.slots);
  if (!grants.take_new(destination_of(target.target, target.entity, target.one_at_a_time)))
    return no_slot_wait;
  const auto lease = random_();
  if (store::claim_diagnosis(round.session, webhook, lease, settings_.lease) != DiagnosisUpdate::done)
    return {};
  const auto now = platform::utc_now();
  const bool unverifiable = is_unverifiable(target.target, round.keys);
  const auto one =
      running_
          .try_emplace(lease, Running{.webhook = webhook,
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
  grants.keep(webhook);
  round.slots.diagnoses(webhook);
  isolate(
      webhook, [&] { advance(round, one); }, [&] { forget(round.slots, one); });
  return {};
}

void Diagnoses::advance(const Round& round, All::iterator one) {
  auto& running = one->second;
  auto test_requests = running.diagnosis.next();
  if (test_requests.empty()) return finish(round.session, round.slots, one, {});
  const auto leased_at = monotonic_now();
  const auto renewal = store::renew_diagnosis(round.session, running.webhook, one->first, settings_.lease);
  if (renewal == DiagnosisUpdate::locked) return;  // the next round tries again
  const auto target = renewal == DiagnosisUpdate::done
                          ? store::find_diagnosis_target(round.session, running.webhook)
                          : std::nullopt;
  if (!target) return forget(round.slots, one);
  auto stop = obstacle(round, running, *target);
  if (!stop && !ask(round, one, *target, std::move(test_requests), leased_at))
    stop = DiagnosisStop::unreadable_secret;
  if (stop) finish(round.session, round.slots, one, stop);
}

std::optional<DiagnosisStop> Diagnoses::obstacle(const Round& round, const Running& running,
                                                 const store::DiagnosisTarget& target) const {
  using enum DiagnosisStop;
  if (!target.diagnosable) return disabled;
  if (!target.event) return interrupted;  // only a newer release knows the webhook's events
  if (target.target.url != running.diagnosis.subject().url) return url_changed;
  if (running.failed) return interrupted;
  if (round.outage) return outage;
  if (running.handed_back > most_handed_back) return not_begun;
  const auto& parts = round.ready.paused_parts;
  if (round.ready.paused ||
      parts.left(target.entity, running.webhook, target.target.url, monotonic_now()).count() > 0)
    return paused;
  return std::nullopt;
}

/// Sends the test requests. False: a secret cannot be read.
bool Diagnoses::ask(const Round& round, All::iterator one, const store::DiagnosisTarget& target,
                    std::vector<delivery::TestRequest> test_requests, platform::MonotonicTime leased_at) {
  auto& [lease, running] = *one;
  Request prepared;
  if (!open_secrets(prepared, target.target, round.keys)) return false;
  prepared.delivery.webhook = running.webhook;
  prepared.delivery.entity = target.entity;
  prepared.delivery.event = *target.event;
  prepared.url = target.target.url;
  prepared.host = webhook::host_and_port(prepared.url);
  prepared.slots = std::max(1U, round.slots.slots(running.webhook));
  prepared.read_at = leased_at;
  prepared.lease_until = leased_at + settings_.lease;
  std::vector<Request> requests;
  for (auto& test_request : test_requests) {
    auto& request = requests.emplace_back(prepared);
    request.test_request = std::make_shared<delivery::TestRequest>(std::move(test_request));
    request.test_request->diagnosis = lease;
    fill_in(request, running, target);
  }
  running.awaited = static_cast<unsigned>(requests.size());
  running.sent = running.sent || is_request(requests.front().test_request->kind);
  sender_.submit(std::move(requests));
  return true;
}

void Diagnoses::fill_in(Request& request, Running& running, const store::DiagnosisTarget& target) const {
  auto& test_request = *request.test_request;
  if (test_request.kind == TestRequestKind::lookup) request.purpose = Request::Purpose::lookup;
  if (test_request.kind == TestRequestKind::handshake) {
    request.purpose = Request::Purpose::handshake;
    request.address = test_request.address;
  }
  if (!is_request(test_request.kind)) return;
  test_request.message_id = message_id(running.messages, test_request.kind);
  if (test_request.kind == TestRequestKind::wrong_signature ||
      test_request.kind == TestRequestKind::second_signature)
    test_request.signature = crypto::random_bytes(4 * wrong_signature_bytes);
  if (test_request.kind == TestRequestKind::repeated) {
    request.body = running.genuine;
    return;
  }
  request.body = body_of(test_request.kind, target, running.occurred);
  if (test_request.kind == TestRequestKind::genuine) running.genuine = request.body;
}

void Diagnoses::finish(store::Session& session, FairSlots& slots, All::iterator one,
                       std::optional<DiagnosisStop> why) {
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
  forget(slots, one);
}

void Diagnoses::forget(FairSlots& slots, All::iterator one) {
  const auto& running = one->second;
  slots.ended(running.webhook, FairSlots::End::diagnosed,
              std::chrono::duration_cast<platform::Milliseconds>(monotonic_now() - running.began));
  slots.recorded(running.webhook);
  running_.erase(one);
}

void Diagnoses::stop(store::Session* session, FairSlots& slots) {
  for (auto next = running_.begin(); next != running_.end();) {
    const auto one = next++;
    auto& running = one->second;
    if (running.sent && running.awaited > 0) continue;
    if (session != nullptr && running.sent) {
      const bool done = running.diagnosis.next().empty();
      finish(*session, slots, one, done ? std::nullopt : std::optional(DiagnosisStop::interrupted));
      continue;
    }
    const bool locked = session != nullptr && store::release_diagnosis(*session, running.webhook,
                                                                       one->first) == DiagnosisUpdate::locked;
    if (!locked) forget(slots, one);
  }
}

}  // namespace dispatcher
