#include "dispatcher/maintenance/maintenance.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/store/audit/audit.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/webhooks/idempotency.hpp"
#include "lib/store/webhooks/secret_change.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr unsigned recovery_batch = 500;
constexpr auto failure_rest = 10s;  // after an error that may persist
constexpr auto conflict_rest = 1s;
constexpr auto longest_rest = 6h;   // of a task with an idle factor
constexpr auto idle_interval = 1s;  // between runs of a task that has found none

constexpr auto slice = 10ms;           // a run of a task begins no further batch after this
constexpr auto quick_batch = 8ms;      // after a quicker batch of a purge the next batch is larger
constexpr auto slow_batch = 20ms;      // after a slower batch of a purge the next batch is smaller
constexpr unsigned least_window = 32;  // rows of a purge's batch
constexpr unsigned largest_window = 512;

/// Runs `step` until it returns true or `slice` is over. True: `step` returned true.
template <class F>
bool take_turn(F&& step) {
  const auto end = platform::monotonic_now() + slice;
  bool done = step();
  while (!done && platform::monotonic_now() < end) done = step();
  return done;
}

/// Returns a task's work that runs `step` in turns. `step` returns true if nothing is left to do.
template <class F>
auto in_turns(F step) {
  return [step](Maintenance& self, store::Session& session, auto&) {
    return take_turn([&] { return step(self, session); });
  };
}

}  // namespace

Maintenance::Maintenance(const config::Settings& settings, platform::Log log, const Metrics& metrics)
    : delivery_(settings.delivery),
      retention_(settings.retention),
      log_(std::move(log)),
      metrics_(metrics),
      tasks_{{
          {"watch the database's clock",
           [](auto& self, auto& session, auto&) {
             self.clock_is_believed(session);
             return true;
           },
           1s},
          {"recover leases", &Maintenance::recover_leases, 1s},
          {"apply changes of webhooks", &Maintenance::apply_changes, 1s},
          {"reconcile", &Maintenance::reconcile, 2s},
          {"give up what is held", &Maintenance::give_up_held, 10min, true},
          {"purge", [](auto& self, auto&... with) { return self.purge(with..., self.follower_); }, 5s, true},
          {"purge what was left",
           [](auto& self, auto&... with) { return self.purge(with..., self.sweeper_); }, 10min, true, 50},
          {"erase ended secrets", &Maintenance::erase_secrets, 20s, true},
          {"forget the audit", in_turns([](auto& self, auto& session) {
             return store::forget_old_audit(session, self.retention_.audit) < store::batch_rows;
           }),
           10min, true},
          {"bring forward", &Maintenance::bring_forward, 50ms},
          {"release what was for later", &Maintenance::release_deferred, 1s},
          {"feed replays", &Maintenance::feed_replays, 100ms},
          // limits.replayed counts the replays of the last 24 h, so a replay must be kept for longer than
          // that.
          {"forget replays", in_turns([](auto& self, auto& session) {
             return !store::forget_old_replay(
                 session, std::max<platform::Milliseconds>(self.retention_.delivered, std::chrono::days(2)));
           }),
           10min, true},
          {"forget diagnoses", in_turns([](auto& self, auto& session) {
             return store::forget_old_diagnoses(session, self.retention_.delivered) < store::batch_rows;
           }),
           10min, true},
          {"forget idempotency keys", in_turns([](auto&, auto& session) {
             return store::forget_old_requests(session) < store::batch_rows;
           }),
           10min, true},
      }} {}

std::string_view Maintenance::run(store::Session& session, platform::MonotonicTime now, bool idle) {
  if (now < resting_until_) return {};
  auto& task = *std::ranges::min_element(tasks_, {}, &Task::next);
  if (now < task.next) return {};
  const auto cost = run_task(session, task);
  resting_until_ = platform::monotonic_now() + (idle ? cost : 3 * cost);
  return task.name;
}

/// Runs the task and returns how long it took. An error delays only this task.
Maintenance::Span Maintenance::run_task(store::Session& session, Task& task) {
  const auto start = platform::monotonic_now();
  const auto rest_for = [&](Span rest) { task.next = platform::monotonic_now() + rest; };
  try {
    rest_for(failure_rest);
    // Checked immediately before the work, because an irreversible task must not follow a wrong clock.
    const bool held_back = task.irreversible && !clock_is_believed(session);
    const bool finished = held_back || task.work(*this, session, task);
    task.cost += platform::monotonic_now() - start;
    const auto interval = task.found_none ? idle_interval : task.interval;
    rest_for(finished ? std::clamp<Span>(task.idle_factor * task.cost, interval,
                                         std::max<Span>(interval, longest_rest))
                      : Span{});
    if (finished) task.cost = {};
  } catch (const store::Unavailable&) {
    rest_for(std::min<Span>(task.interval, failure_rest));  // not the task's fault
    throw;
  } catch (const store::Conflict& error) {
    log_.info("transaction conflict; retrying", {{"task", task.name}, {"error", error.what()}});
    rest_for(conflict_rest);
  } catch (const std::exception& error) {
    log_.error("maintenance task failed; retrying", {{"task", task.name}, {"error", error.what()}});
    session.disconnect();  // its state is unknown
  }
  return platform::monotonic_now() - start;
}

/// Logs, at most once a minute for each task, what the database said of a row that it refused. An empty
/// `refusal` means that it refused no row.
void Maintenance::report_refusal(Task& task, const std::string& refusal) {
  if (refusal.empty()) return;
  task.refusals.add(1);
  if (const auto times = task.refusals.take_if_due(platform::monotonic_now()))
    log_.error("the database refuses a row; the others go on",
               {{"task", task.name}, {"times", *times}, {"error", refusal}});
}

/// Takes steps of a walk. If the walk is done, returns it, and begins a new one.
template <class Walk, class Step>
std::optional<Walk> Maintenance::walk_on(Task& task, Walk& walk, Step&& step) {
  const bool done = take_turn([&] {
    step();
    return walk.done;
  });
  if (!done) return std::nullopt;
  report_refusal(task, walk.refusal);
  return std::exchange(walk, {});
}

bool Maintenance::recover_leases(store::Session& session, Task& task) {
  const auto recovered = store::recover_expired_leases(session, recovery_batch, unrecorded_());
  metrics_.leases_recovered.add(recovered.count);
  if (recovered.count > 0) {
    log_.warning("expired leases recovered: these deliveries are attempted again",
                 {{"deliveries", recovered.count}});
  }
  report_refusal(task, recovered.refusal);
  return recovered.count < recovery_batch;
}

bool Maintenance::clock_is_believed(store::Session& session) {
  const auto look = store::watch_clock(session, first_sight_, platform::monotonic_now(), delivery_.lease);
  if (look.behind.count() > 0)
    log_.warning("the database's clock has gone back: leases are cut to their length",
                 {{"by_s", look.behind / 1s}});
  const bool jumped = look.jumped.count() != 0;
  if (jumped && !clock_jumped_)
    log_.error(
        "the database's clock has jumped: nothing is purged or erased until "
        "`apientidades-admin queue clock accept`",
        {{"by_s", look.jumped / 1s}});
  if (!jumped && clock_jumped_) log_.warning("the database's clock is believed again: retention goes on");
  clock_jumped_ = jumped;
  return !jumped;
}

bool Maintenance::reconcile(store::Session& session, Task& task) {
  const auto walk = walk_on(task, reconciliation_, [&] { store::reconcile_some(session, reconciliation_); });
  if (!walk) return false;
  reconciliation_ = store::next_walk(*walk);
  reconciled_ += walk->changed;
  if (walk->changed.all() > 0) return false;
  const auto [cancelled, held, released] = std::exchange(reconciled_, {});
  if (cancelled + held + released > 0)
    log_.info("deliveries cancelled, held or released because their webhooks changed",
              {{"cancelled", cancelled}, {"held", held}, {"released", released}});
  return true;
}

bool Maintenance::apply_changes(store::Session& session, Task& task) {
  const auto walk = walk_on(task, changes_, [&] {
    store::apply_changes(session, changes_);
    std::ranges::move(std::exchange(changes_.begun, {}), std::back_inserter(changed_));
  });
  if (!walk) return false;
  if (walk->applied > 0)
    log_.info("webhooks were changed by their entities: their failures are forgotten",
              {{"webhooks", walk->applied}, {"deliveries_due", walk->hastened}});
  return walk->unfinished == 0;
}

bool Maintenance::erase_secrets(store::Session& session, Task& task) {
  std::string refusal;
  const bool done =
      take_turn([&] { return store::erase_ended_secrets(session, refusal) < store::batch_rows; });
  report_refusal(task, refusal);
  return done;
}

bool Maintenance::bring_forward(store::Session& session, Task& task) {
  const store::ForwardLimits limits{.most_due = std::max(1U, delivery_.max_in_flight_per_webhook / 2),
                                    .probe_interval = delivery_.probe_interval};
  auto walk = walk_on(task, forward_, [&] { store::bring_forward(session, limits, forward_); });
  if (!walk) return false;
  task.found_none = walk->webhooks == 0;
  std::ranges::copy(walk->due, std::back_inserter(due_));
  const bool any = !walk->due.empty();
  forward_ = store::next_forward_walk(*std::move(walk));
  return !any;  // otherwise those that are due may soon be claimed, which makes room for more
}

/// Looks at the clock only once something is due: what is sent too early cannot be called back. A walk goes
/// on behind what it has released: the search for the first would read the index entries that the server has
/// not purged.
bool Maintenance::release_deferred(store::Session& session, Task& task) {
  const bool walking = deferred_.after != platform::UtcTime{};
  if ((!walking && !store::any_deferred_due(session)) || !clock_is_believed(session)) return true;
  const auto walk = walk_on(task, deferred_, [&] {
    store::release_deferred(session, deferred_);
    released_.merge(std::exchange(deferred_.entities, {}));
  });
  if (!walk) return false;
  if (walk->released > 0)
    log_.info("notifications for later are due (no_antes_de)", {{"notifications", walk->released}});
  return true;
}

bool Maintenance::feed_replays(store::Session& session, Task& task) {
  const auto half = std::max(1U, delivery_.max_in_flight_per_webhook / 2);
  const auto walk = walk_on(task, replays_, [&] { store::feed_replays(session, half, replays_); });
  if (!walk) return false;
  for (const auto& [id, error] : walk->unreadable)
    log_.error("a replay that cannot be carried out is cancelled", {{"replay", id}, {"error", error}});
  task.found_none = walk->webhooks == 0;
  if (walk->finished > 0)
    log_.info("replays that entities asked for are over", {{"replays", walk->finished}});
  return true;
}

bool Maintenance::give_up_held(store::Session& session, Task& task) {
  const auto walk = walk_on(task, held_, [&] { store::give_up_held(session, retention_.held, held_); });
  if (!walk) return false;
  metrics_.count_given_up(walk->ended);
  if (walk->ended > 0)
    log_.warning("deliveries were held for longer than retention.held: they are fallida, or cancelada",
                 {{"deliveries", walk->ended}});
  return walk->ended == 0;
}

bool Maintenance::purge(store::Session& session, Task& task, store::PurgeWalk& walk) {
  const bool done = take_turn([&] {
    const auto start = platform::monotonic_now();
    purged_.add(store::purge_window(session, retention_, walk, window_));
    report_refusal(task, walk.refusal);
    const auto took = platform::monotonic_now() - start;
    if (took > slow_batch) window_ = std::max(least_window, window_ / 2);
    if (took < quick_batch) window_ = std::min(largest_window, window_ * 2);
    return walk.done();
  });
  if (const auto rows = purged_.take_if_due(platform::monotonic_now()))
    log_.info("rows past their retention removed", {{"rows", *rows}});
  return done;
}

}  // namespace dispatcher
