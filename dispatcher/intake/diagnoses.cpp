#include "dispatcher/intake/diagnoses.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/request.hpp"
#include "dispatcher/http/sender.hpp"
#include "dispatcher/intake/fan_out_plan.hpp"
#include "dispatcher/schedule/waits.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/store/session/errors.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

using delivery::DiagnosisStop;
using delivery::ProbeKind;
using platform::monotonic_now;
using store::DiagnosisUpdate;
using namespace std::chrono_literals;

constexpr unsigned looked_at = 16;
constexpr auto slice = 10ms;  // in a round, for beginning and again for advancing diagnoses
constexpr auto paused_wait = 1s;
constexpr unsigned most_handed_back = 30;  // times; each follows a wait of a second for the host

std::string message_id(std::uint64_t messages, ProbeKind kind) {
  // The repeated request has the id of the genuine one.
  const auto number = static_cast<unsigned>(kind == ProbeKind::repeated ? ProbeKind::genuine : kind);
  return "msg_diagnostico_" + std::to_string(messages) + "_" + std::to_string(number);
}

std::string_view datum(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::wrong_signature:
      return name(delivery::Check::wrong_signature);
    case ProbeKind::no_signature:
      return name(delivery::Check::no_signature);
    case ProbeKind::old_timestamp:
      return name(delivery::Check::old_timestamp);
    default:
      return name(delivery::Check::genuine);
  }
}

bool is_request(ProbeKind kind) { return kind != ProbeKind::lookup && kind != ProbeKind::handshake; }

std::string body_of(ProbeKind kind, const store::DiagnosisTarget& target, platform::UtcTime occurred) {
  const bool accepted = kind == ProbeKind::genuine || kind == ProbeKind::repeated;
  if (kind == ProbeKind::old_timestamp) occurred -= delivery::old_by;
  const auto data = webhook::diagnosis_data(target.entity, target.entity_name, accepted, datum(kind));
  return webhook::notification_body(*target.event, occurred, data);
}

}  // namespace

Diagnoses::Diagnoses(const platform::DeliverySettings& settings, const platform::Log& log, Sender& sender)
    : settings_(settings),
      hidden_(webhook::operators_networks(settings)),
      log_(log),
      sender_(sender),
      random_(std::random_device{}()) {}

void Diagnoses::ended(const Attempt& attempt) {
  const auto found = running_.find(attempt.probe->diagnosis);
  if (found == running_.end()) return;
  auto& running = found->second;
  --running.awaited;
  if (attempt.transport == TransportResult::not_started) {
    ++running.handed_back;
    if (attempt.probe->kind == ProbeKind::genuine) running.sent = false;
  } else if (attempt.transport == TransportResult::local_failure) {
    running.failed = true;
  } else {
    running.diagnosis.note(attempt);
  }
}

bool Diagnoses::work(const Turn& turn) {
  const bool more_answers = advance(turn);
  const bool more_asked = begin(turn);
  turn.scanner.attend_pauses(!running_.empty());
  return more_answers || more_asked;
}

/// Round robin, by lease.
bool Diagnoses::advance(const Turn& turn) {
  const auto until = monotonic_now() + slice;
  auto next = running_.upper_bound(served_);
  for (auto left = running_.size(); left > 0; --left) {
    if (next == running_.end()) next = running_.begin();
    const auto one = next++;
    if (one->second.awaited > 0) continue;
    if (monotonic_now() >= until) return true;
    served_ = one->first;
    isolate(
        one->second.webhook, [&] { advance(turn, one); }, [&] { forget(turn.slots, one); });
  }
  return false;
}

/// A refusal of the database ends one diagnosis, not the others.
template <class F, class G>
void Diagnoses::isolate(delivery::WebhookId webhook, F&& work, G&& give_up) {
  try {
    work();
  } catch (const store::Refused& error) {
    log_.error("the database refuses a diagnosis; its lease runs out",
               {{"webhook", webhook}, {"error", error.what()}});
    give_up();
  }
}

bool Diagnoses::begin(const Turn& turn) {
  const auto now = monotonic_now();
  if (!turn.may_begin && !turn.scanner.paused()) return false;
  if (!turn.scanner.asked_diagnoses() || now < next_look_) return false;
  next_look_ = now + paused_wait;  // also if what follows throws
  const auto asked = store::find_asked_diagnoses(turn.session, after_, looked_at);
  auto wait = settings_.poll_interval;
  for (const auto& target : asked) {
    if (monotonic_now() >= now + slice && target.target.webhook != asked.front().target.webhook) {
      next_look_ = now;
      return true;
    }
    after_ = target.target.webhook;
    isolate(
        target.target.webhook, [&] { wait = std::max(wait, begin_one(turn, target)); },
        [&] { wait = std::max<platform::Milliseconds>(wait, paused_wait); });
  }
  if (asked.size() < looked_at) after_ = 0;
  next_look_ = now + wait;
  return false;
}

/// Returns how long the next search must wait because something delays the diagnosis; 0: nothing does.
platform::Milliseconds Diagnoses::begin_one(const Turn& turn, const store::DiagnosisTarget& target) {
  const auto webhook = target.target.webhook;
  if (!target.diagnosable || target.overdue) {
    const auto why = target.diagnosable ? DiagnosisStop::not_begun : DiagnosisStop::disabled;
    store::fail_asked_diagnosis(turn.session, webhook, to_json(delivery::stopped_findings(why)));
    return {};
  }
  if (!turn.may_begin || turn.outage) return paused_wait;
  if (!target.event) return paused_wait;  // a newer version carries it out
  const auto& parts = turn.scanner.paused_parts();
  if (parts.left(target.entity, webhook, target.target.url, monotonic_now()).count() > 0) return paused_wait;
  Grants grants(turn.slots);
  if (!grants.take_new(destination_of(target.target, target.entity, target.probing))) return no_slot_wait;
  const auto lease = random_();
  if (store::claim_diagnosis(turn.session, webhook, lease, settings_.lease) != DiagnosisUpdate::done)
    return {};
  const auto now = platform::utc_now();
  const auto one =
      running_
          .try_emplace(lease, Running{.webhook = webhook,
                                      .messages = random_(),
                                      .diagnosis = {{.url = target.target.url,
                                                     .has_secret = target.target.secret.has_value(),
                                                     .hidden = hidden_,
                                                     .connection_life = connection_life},
                                                    settings_,
                                                    now},
                                      .began = monotonic_now(),
                                      .occurred = now})
          .first;
  grants.keep(webhook);
  turn.slots.diagnoses(webhook);
  isolate(
      webhook, [&] { advance(turn, one); }, [&] { forget(turn.slots, one); });
  return {};
}

void Diagnoses::advance(const Turn& turn, All::iterator one) {
  auto& running = one->second;
  auto probes = running.diagnosis.next();
  if (probes.empty()) return finish(turn.session, turn.slots, one, {});
  const auto leased_at = monotonic_now();
  const auto renewal = store::renew_diagnosis(turn.session, running.webhook, one->first, settings_.lease);
  if (renewal == DiagnosisUpdate::locked) return;  // the next round tries again
  const auto target = renewal == DiagnosisUpdate::done
                          ? store::find_diagnosis_target(turn.session, running.webhook)
                          : std::nullopt;
  if (!target) return forget(turn.slots, one);
  auto stop = obstacle(turn, running, *target);
  if (!stop && !ask(turn, one, *target, std::move(probes), leased_at))
    stop = DiagnosisStop::unreadable_secret;
  if (stop) finish(turn.session, turn.slots, one, stop);
}

std::optional<DiagnosisStop> Diagnoses::obstacle(const Turn& turn, const Running& running,
                                                 const store::DiagnosisTarget& target) const {
  using enum DiagnosisStop;
  if (!target.diagnosable || !target.event) return disabled;
  if (target.target.url != running.diagnosis.subject().url) return url_changed;
  if (running.failed) return interrupted;
  if (turn.outage) return outage;
  if (running.handed_back > most_handed_back) return not_begun;
  const auto& parts = turn.scanner.paused_parts();
  if (turn.scanner.paused() ||
      parts.left(target.entity, running.webhook, target.target.url, monotonic_now()).count() > 0)
    return paused;
  return std::nullopt;
}

/// False: a secret cannot be read.
bool Diagnoses::ask(const Turn& turn, All::iterator one, const store::DiagnosisTarget& target,
                    std::vector<delivery::Probe> probes, platform::MonotonicTime leased_at) {
  auto& [lease, running] = *one;
  Request prepared;
  if (!open_secrets(prepared, target.target, turn.keys)) return false;
  prepared.delivery.webhook = running.webhook;
  prepared.delivery.entity = target.entity;
  prepared.delivery.event = *target.event;
  prepared.url = target.target.url;
  prepared.host = webhook::host_and_port(prepared.url);
  prepared.slots = std::max(1U, turn.slots.slots(running.webhook));
  prepared.read_at = leased_at;
  prepared.lease_until = leased_at + settings_.lease;
  std::vector<Request> requests;
  for (auto& probe : probes) {
    auto& request = requests.emplace_back(prepared);
    request.probe = std::make_shared<delivery::Probe>(std::move(probe));
    request.probe->diagnosis = lease;
    fill_in(request, running, target);
  }
  running.awaited = static_cast<unsigned>(requests.size());
  const bool posts = is_request(requests.front().probe->kind);
  running.sent = running.sent || posts;
  posts ? sender_.submit(std::move(requests)) : sender_.check(std::move(requests));
  return true;
}

void Diagnoses::fill_in(Request& request, Running& running, const store::DiagnosisTarget& target) const {
  auto& probe = *request.probe;
  if (probe.kind == ProbeKind::lookup) request.purpose = Request::Purpose::lookup;
  if (probe.kind == ProbeKind::handshake) {
    request.purpose = Request::Purpose::handshake;
    request.address = probe.address;
  }
  if (!is_request(probe.kind)) return;
  probe.message_id = message_id(running.messages, probe.kind);
  if (probe.kind == ProbeKind::wrong_signature)
    probe.signature = crypto::random_bytes(4 * wrong_signature_bytes);
  if (probe.kind == ProbeKind::repeated) {
    request.body = running.genuine;
    return;
  }
  request.body = body_of(probe.kind, target, running.occurred);
  if (probe.kind == ProbeKind::genuine) running.genuine = request.body;
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
  slots.ended(running.webhook, FairSlots::Outcome::diagnosed,
              std::chrono::duration_cast<platform::Milliseconds>(monotonic_now() - running.began));
  slots.recorded(running.webhook);
  running_.erase(one);
}

void Diagnoses::stop(store::Session* session, FairSlots& slots) {
  for (auto next = running_.begin(); next != running_.end();) {
    const auto one = next++;
    auto& running = one->second;
    if (running.sent && running.awaited > 0) continue;
    if (session == nullptr) {
      forget(slots, one);
    } else if (running.sent) {
      const bool done = running.diagnosis.next().empty();
      finish(*session, slots, one, done ? std::nullopt : std::optional(DiagnosisStop::interrupted));
    } else {
      store::release_diagnosis(*session, running.webhook, one->first);
      forget(slots, one);
    }
  }
}

}  // namespace dispatcher
