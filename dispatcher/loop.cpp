#include "dispatcher/loop.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <random>

#include "dispatcher/http/request.hpp"
#include "lib/delivery/classify.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/store/programs.hpp"
#include "lib/store/session/wait_for_database.hpp"
#include "lib/webhook/key_file.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;

constexpr Milliseconds slow_task{1000};
constexpr Milliseconds away_wait{500};       // before the database or a failed task is tried again
constexpr unsigned attempts_in_outage = 10;  // in flight
// While the database refuses all results, a few attempts at intervals find out when it accepts results again.
constexpr unsigned trials = 4;
constexpr platform::Milliseconds between_trials{1000};
constexpr auto answers_count_for = std::chrono::minutes(1);  // about as long as connections are kept
constexpr std::string_view scan = "scan";
constexpr std::string_view again = "fan-out again";  // the task that retries what was passed over
constexpr Milliseconds drain_margin{5000};           // beyond delivery.timeout, to record the last results

/// The time after which the result writer checks its idle database session. It is short over the
/// network, so that the result writer soon notices a frozen server and moves to another.
Milliseconds between_looks(const config::DatabaseSettings& database) {
  return Milliseconds(database.hosts.empty() ? 10'000 : 1000);
}

FairSlots::End outcome_of(const Attempt& attempt) {
  using enum FairSlots::End;
  if (attempt.transport == TransportResult::not_started ||
      attempt.transport == TransportResult::local_failure)
    return not_started;
  if (attempt.transport == TransportResult::sandboxed) return answered;
  if (attempt.transport != TransportResult::answered) return failed;
  if (asks_to_wait(attempt)) return asked_to_wait;
  return attempt.status >= 200 && attempt.status <= 299 ? answered : answered_error;
}

}  // namespace

Loop::Loop(const config::Settings& settings, webhook::KeyRing keys, store::Session session,
           store::Session results_session, const platform::Log& log, const Metrics& metrics)
    : settings_(settings.delivery),
      key_file_(settings.secrets.key_file),
      keys_(std::move(keys)),
      session_(std::move(session)),
      log_(log),
      metrics_(metrics),
      limits_({.total = settings.delivery.max_in_flight,
               .per_webhook = settings.delivery.max_in_flight_per_webhook,
               .per_host = settings.delivery.max_in_flight_per_host,
               .longest = settings.delivery.timeout}),
      slots_(limits_),
      maintenance_(settings, log, metrics),
      ready_(static_cast<std::int64_t>(std::random_device{}() % 1000),
             [this](auto entity) { return slots_.is_quick(entity); }),
      scanner_(settings.delivery, ready_),
      claimer_(session_, ready_, slots_, settings.delivery.lease, log),
      fan_out_(session_, ready_, slots_, settings.delivery, log, metrics),
      writer_(settings.delivery, std::move(results_session), between_looks(settings.database), log, metrics),
      sender_(settings.delivery, attempts_, settings.database.hosts),
      outages_(settings.delivery, log, metrics, sender_),
      diagnoses_(settings.delivery, log, settings.database.hosts) {
  session_.before_statements([this] { feed_watchdog(); });
  maintenance_.leave_leases_of([this] { return writer_.unrecorded(); });
}

void Loop::run(const platform::StopSignal& stop, program::Reload& reload) {
  const auto check = [this] { store::require_database(store::Program::dispatcher, session_, log_); };
  const auto between = [&] {
    feed_watchdog();
    if (reload.take()) webhook::reload_keys(keys_, key_file_, log_);
  };
  if (!store::wait_for_database(check, stop, between, log_)) return;
  while (!stop.requested()) {
    if (reload.take()) webhook::reload_keys(keys_, key_file_, log_);
    const bool busy = round();
    show();
    report(false);
    feed_watchdog();
    if (!busy) wait(away_ ? away_wait : until_next_look(), {stop.fd(), reload.fd()});
  }
  drain(!reload.wanted());
}

/// Runs one round. True: there may be more to do at once.
bool Loop::round() {
  try {
    const bool busy = work();
    idle_ = !busy;
    report_back();
    return busy;
  } catch (const store::Unavailable& error) {
    report_away(error);
    return false;
  }
}

bool Loop::work() {
  collect();
  const bool recorded = take_recorded();
  // While results cannot be recorded, maintenance must not recover their leases or change their deliveries.
  if (!writer_.away()) maintain();
  // These webhooks no longer rest, but the ready set may postpone them for up to a minute more. The
  // loop below ends the postponement.
  for (const auto webhook : maintenance_.take_changed())
    ready_.webhooks.postpone(webhook, platform::monotonic_now());
  for (const auto entity : maintenance_.take_released()) {
    if (ready_.entities.has_room()) ready_.entities.appeared(entity);  // the search finds the others
  }
  for (const auto webhook : maintenance_.take_due())
    ready_.webhooks.waits(webhook, platform::monotonic_now());
  const bool was_paused = ready_.paused;
  task(scan, [this] { return scanner_.look(session_, platform::monotonic_now(), idle_), false; });
  // After a new pause the sender hands back all deliveries that it has not started. Those that the pause does
  // not concern are claimed again.
  if ((ready_.paused && !was_paused) || ready_.paused_parts.take_added()) {
    sender_.return_waiting();
    diagnoses_.return_waiting();
  }
  task("outages", [this] { return outages_.record(session_, platform::monotonic_now()), false; });
  takes_in_ = may_start();
  const bool diagnoses_wait = diagnose(takes_in_);
  const bool taken = takes_in_ && take_in();
  return taken || recorded || diagnoses_wait;
}

/// Needs no task(): maintenance catches the errors of each of its own tasks.
void Loop::maintain() {
  feed_watchdog();
  const auto start = platform::monotonic_now();
  note_time(maintenance_.run(session_, start, idle_), start);
}

/// True: attempts may start. False while the whole queue is paused, and while results cannot be recorded or
/// too many results wait: further claims would fill the memory, and leases would expire. While the database
/// refuses all results: true once per between_trials.
bool Loop::may_start() {
  if (ready_.paused || writer_.stuck()) {
    fan_out_.forget_locks();
    return false;
  }
  if (writer_.backlog() >= 2 * std::size_t{settings_.max_in_flight}) return false;
  const bool was_refusing = std::exchange(refusing_, writer_.refusing());
  if (!refusing_) {
    if (was_refusing) limit_slots();
    return true;
  }
  const auto now = platform::monotonic_now();
  if (now < next_trial_) return false;
  next_trial_ = now + between_trials;
  limit_slots();
  return true;
}

/// Works on diagnoses. True: more can be done at once.
bool Loop::diagnose(bool may_begin) {
  return task("diagnoses", [&] {
    const auto keys = keys_.current();
    return diagnoses_.work({session_, ready_, *keys, outages_.outage(), may_begin});
  });
}

/// Fans out what is new, with large data apart, and claims what is due. Each of these tasks comes first in
/// turns, and the others follow it in either order, so that no task takes every free slot.
bool Loop::take_in() {
  constexpr unsigned tasks = 3;
  order_ = (order_ + 1) % (2 * tasks);
  bool busy = false;
  for (unsigned i = 0; i < tasks; ++i) {
    switch ((order_ + (order_ < tasks ? i : tasks - i)) % tasks) {
      case 0:
        busy = take_in("fan-out", [&](auto& into) { fan_out_.run_sendable(into); }) || busy;
        break;
      case 1:
        busy = take_in("fan-out of large ones", [&](auto& into) { fan_out_.run_large(into); }) || busy;
        break;
      default:
        busy = take_in("claim", [&](auto& into) { claimer_.claim(into); }) || busy;
    }
  }
  busy = take_in("fan-out of wrong ones", [&](auto& into) { fan_out_.run_wrong(into); }) || busy;
  busy = take_in(again, [&](auto& into) { fan_out_.run_passed_over(into); }) || busy;
  busy = take_in("fan-out of suspect ones", [&](auto& into) { fan_out_.run_suspect(into); }) || busy;
  return take_in("fan-out ahead", [&](auto& into) { fan_out_.run_ahead(into); }) || busy;
}

template <class Source>
bool Loop::take_in(std::string_view name, Source&& source) {
  return task(name, [&] {
    LeasedBatch leased_batch(slots_);
    try {
      source(leased_batch);
    } catch (...) {
      send(std::move(leased_batch));  // what was leased before the error
      throw;
    }
    const bool worked = leased_batch.worked;
    send(std::move(leased_batch));
    return worked;
  });
}

/// Runs one task of a round, and returns what the task returns. Returns false if the task fails or is not
/// run. A failure does not stop the other tasks. After a transaction conflict the task runs again in the next
/// round; after any other failure, once away_wait has passed. Throws store::Unavailable.
template <class F>
bool Loop::task(std::string_view name, F&& body) {
  feed_watchdog();
  const auto start = platform::monotonic_now();
  if (start < earliest(name)) return false;
  bool more = false;
  try {
    more = body();
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::Conflict& error) {
    log_.info("transaction conflict; retrying", {{"task", name}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log_.error("a task failed; retrying", {{"task", name}, {"error", error.what()}});
    session_.disconnect();  // its state is unknown
    retry_at_[name] = start + away_wait;
  }
  note_time(name, start);
  return more;
}

/// When a task may run again after a failure.
platform::MonotonicTime Loop::earliest(std::string_view name) const {
  const auto failed = retry_at_.find(name);
  return failed == retry_at_.end() ? platform::MonotonicTime{} : failed->second;
}

void Loop::note_time(std::string_view name, platform::MonotonicTime start) const {
  const auto took = std::chrono::duration_cast<Milliseconds>(platform::monotonic_now() - start);
  if (took < slow_task) return;
  metrics_.slow_tasks.add();
  log_.warning("a task kept the loop from all others for a second or longer",
               {{"task", name}, {"ms", took.count()}});
}

/// Logs what is logged once a minute. Not in the tasks, some of which do not run for long.
void Loop::report(bool stopping) {
  claimer_.report(stopping);
  fan_out_.report(stopping);
}

void Loop::show() const {
  metrics_.rounds.add();
  metrics_.in_flight.set(slots_.in_hand());
  metrics_.unrecorded.set(static_cast<double>(writer_.waiting()));
  metrics_.database_up.set(away_ || writer_.away() ? 0 : 1);
  metrics_.paused.set(ready_.paused ? 1 : 0);
}

void Loop::report_away(const std::exception& error) {
  fan_out_.forget_locks();
  if (std::exchange(away_, true)) return;
  log_.warning("database unavailable; retrying", {{"error", error.what()}});
}

void Loop::report_back() {
  if (!std::exchange(away_, false)) return;
  log_.info("database available again");
}

Milliseconds Loop::until_next_look() const {
  auto next = std::max(scanner_.next_look(), earliest(scan));
  if (const auto due = fan_out_.next_passed_over(); due && takes_in_)
    next = std::min(next, std::max(*due, earliest(again)));
  const auto wait = std::chrono::ceil<Milliseconds>(next - platform::monotonic_now());
  return std::clamp(wait, Milliseconds{1}, std::min(scanner_.longest_interval(), watchdog_.interval()));
}

/// Feeds the watchdog if the networks' and the result writer's threads make progress, too. Also called before
/// each statement: a task may have many, and the database may take long to answer each.
void Loop::feed_watchdog() {
  watchdog_.feed_if({sender_.heartbeat(), diagnoses_.heartbeat(), writer_.heartbeat()},
                    platform::monotonic_now());
}

/// Returns when an attempt ends or is recorded, when a signal's descriptor is readable, or after `longest`.
void Loop::wait(Milliseconds longest, std::array<int, 2> signals) {
  std::array<pollfd, 5> descriptors{pollfd{attempts_.fd(), POLLIN, 0}, pollfd{diagnoses_.fd(), POLLIN, 0},
                                    pollfd{writer_.fd(), POLLIN, 0}, pollfd{signals[0], POLLIN, 0},
                                    pollfd{signals[1], POLLIN, 0}};
  // While the database is away, the end of an attempt must not start the next round early.
  if (away_) descriptors[0].fd = descriptors[1].fd = descriptors[2].fd = -1;
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(longest.count()));
}

/// Takes ended attempts from the network's thread. Attempts of deliveries go to the result writer. A silent
/// attempt (outage_watch.hpp) goes there only after the outage watch has judged whether the silence is our
/// fault, or can no longer wait for that.
void Loop::collect() {
  const auto now = platform::monotonic_now();
  if (now >= next_forgetting_) {
    slots_.forget_old_answers();
    next_forgetting_ = now + answers_count_for;
  }
  diagnoses_.take_ended();
  auto attempts = attempts_.take();
  for (const auto& attempt : attempts) {
    if (!attempt.observed) slots_.ended(attempt.delivery.webhook, outcome_of(attempt), attempt.duration);
  }
  attempts = outages_.judge(std::move(attempts), now);
  writer_.add(std::move(attempts));
  follow_outages();
}

/// During an outage of our own, a few attempts find out when it ends.
void Loop::follow_outages() {
  if (std::exchange(outage_, outages_.outage()) != outages_.outage()) limit_slots();
}

void Loop::limit_slots() {
  auto limits = limits_;
  if (outage_) {
    limits.total = std::min(limits.total, attempts_in_outage);
    limits.per_host = 1;
  }
  if (refusing_) limits.total = std::min(limits.total, slots_.in_hand() + trials);
  slots_.limit(limits);
}

/// Learns which results were recorded. True: some were, so their webhooks may get further attempts.
bool Loop::take_recorded() {
  const auto now = platform::monotonic_now();
  const auto done = writer_.take_done();
  for (const auto& [webhook, entity, wait] : done) {
    slots_.recorded(webhook);
    ready_.entities.mark(entity, ReadyEntities::Kind::busy, false);
    if (!wait) continue;
    if (wait->count() == 0)
      ready_.webhooks.returned(webhook, now);
    else
      ready_.webhooks.waits(webhook, now + *wait);
  }
  return !done.empty();
}

void Loop::send(LeasedBatch leased_batch) {
  const auto keys = keys_.current();
  std::vector<Request> requests;
  std::vector<delivery::HeldDelivery> unreadable;
  for (auto& delivery : leased_batch.deliveries) {
    const auto webhook = delivery.webhook;
    const auto& [target, host, read_at] = leased_batch.targets.at(webhook);
    auto prepared = prepare_request(delivery, target, *keys, leased_batch.leased_at + settings_.lease);
    if (const auto* what = std::get_if<Unreadable>(&prepared)) {
      unreadable.push_back({std::move(delivery), *what});
      continue;
    }
    requests.push_back(std::get<Request>(std::move(prepared)));
    requests.back().host = host;
    requests.back().read_at = read_at;
  }
  // Slots are kept only after the code above, which may throw: a slot kept for a delivery that is never sent
  // would be lost.
  for (const auto& held : unreadable) slots_.take_unsent(held.delivery.webhook);
  writer_.hold(std::move(unreadable));
  for (const auto& request : requests) leased_batch.grants.keep(request.delivery.webhook);
  leased_batch.grants = Grants(slots_);  // gives back slots not kept, before slots() is read
  for (auto& request : requests) {
    request.slots = slots_.slots(request.delivery.webhook);
    request.to_quick = slots_.is_quick(request.delivery.webhook);
  }
  sender_.submit(std::move(requests));
}

/// Ends the running diagnoses. Once the database has failed, the remaining ones end unrecorded, and their
/// leases expire.
void Loop::stop_diagnoses(bool& records) {
  try {
    diagnoses_.stop(records ? &session_ : nullptr);
  } catch (const std::exception& error) {
    log_.warning("diagnoses end unrecorded", {{"error", error.what()}});
    records = false;
  }
}

/// `stopping`: the process ends, and does not start anew.
void Loop::drain(bool stopping) {
  const Milliseconds longest = settings_.timeout + drain_margin;
  log_.info("stopping: no new attempts, waiting for those in flight",
            {{"in_flight", slots_.in_hand()}, {"diagnoses", diagnoses_.running()}});
  sender_.stop_starting();
  bool records_diagnoses = !away_;
  const auto deadline = platform::monotonic_now() + longest;
  away_ = false;  // from here on only the result writer and stop_diagnoses use the database
  for (bool told = false;;) {
    // A stop may also come during a reload. systemd waits so long, whatever TimeoutStopSec= says.
    if (!told && (stopping || program::stop_ordered()))
      told = platform::notify_service_manager(
          "STOPPING=1\nEXTEND_TIMEOUT_USEC=" +
          std::to_string(std::chrono::microseconds(longest + drain_margin).count()));
    collect();
    writer_.add(outages_.give_up());
    take_recorded();
    stop_diagnoses(records_diagnoses);
    show();
    feed_watchdog();
    const bool done = slots_.in_hand() == 0 && diagnoses_.running() == 0 && writer_.waiting() == 0;
    if (done || platform::monotonic_now() >= deadline) break;
    wait(std::min<Milliseconds>(settings_.poll_interval, away_wait));
  }
  report(true);
  const auto left = slots_.in_hand() + writer_.waiting();
  if (left > 0)
    log_.warning(
        "stopped before every result was recorded: those deliveries are attempted again after their lease",
        {{"deliveries", left}});
  log_.info("stopped");
}

}  // namespace dispatcher
