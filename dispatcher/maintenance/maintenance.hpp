// Runs the maintenance tasks, each at its own interval on the monotonic clock. A task that fails is logged
// and waits; the other tasks go on.
//
// As a rule, one run of a task takes the loop's thread for 30 ms at most. Then all tasks wait three times as
// long as the run took. So maintenance gets at most a quarter of the thread's time while there is something
// to deliver. While there is nothing to maintain, runs are short, and maintenance takes almost no time.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/observation/once_per_minute.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/deliveries/brought_forward.hpp"
#include "lib/store/maintenance/clock_watch.hpp"
#include "lib/store/maintenance/held.hpp"
#include "lib/store/maintenance/reconciliation.hpp"
#include "lib/store/maintenance/retention.hpp"
#include "lib/store/notifications/deferred.hpp"
#include "lib/store/replays/replay_feed.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/changes.hpp"

namespace dispatcher {

class Maintenance {
 public:
  /// `metrics` outlives this object.
  Maintenance(const config::Settings& settings, platform::Log log, const Metrics& metrics);

  /// Runs the task that has been due for longest, if one is due, and returns its name. `idle`: nothing waits
  /// to be delivered, so the tasks wait only as long as the run took, and maintenance may take half of the
  /// thread's time. Throws store::Unavailable, and nothing else.
  std::string_view run(store::Session& session, platform::MonotonicTime now, bool idle = false);
  /// Each recovery of leases calls `unrecorded` and leaves the leases of the deliveries that it returns:
  /// these have been attempted, and their results wait to be recorded.
  void leave_leases_of(std::function<std::set<delivery::DeliveryId>()> unrecorded) {
    unrecorded_ = std::move(unrecorded);
  }
  /// Returns the webhooks that have stopped resting since the last call, because their entities changed them.
  std::vector<delivery::WebhookId> take_changed() { return std::exchange(changed_, {}); }
  /// Returns the entities with notifications whose time, `no_antes_de`, has come since the last call.
  std::set<delivery::EntityId> take_released() { return std::exchange(released_, {}); }
  /// Returns the webhooks with deliveries that were brought forward since the last call.
  std::vector<delivery::WebhookId> take_due() { return std::exchange(due_, {}); }

 private:
  using Span = platform::MonotonicTime::duration;
  struct Task {
    std::string_view name;
    /// Returns true if nothing is left to do for now.
    std::function<bool(Maintenance&, store::Session&, Task&)> work;
    Span interval;              // until the next run, after work has returned true
    bool irreversible = false;  // not run while a jump of the database's clock is not accepted
    /// The interval is at least this many times `cost`. Only for a walk over a whole table that nothing waits
    /// for: what one entity makes costly would delay what others wait for.
    unsigned idle_factor = 0;
    platform::MonotonicTime next{};
    Span cost{};               // of all runs since work last returned true
    bool found_none = false;   // set by work: what it looks for is rare, and there is none; runs less often
    OncePerMinute refusals{};  // of rows, by the database
  };
  Span run_task(store::Session& session, Task& task);
  void report_refusal(Task& task, const std::string& refusal);
  template <class Walk, class Step>
  std::optional<Walk> walk_on(Task& task, Walk& walk, Step&& step);

  bool clock_is_believed(store::Session& session);
  bool recover_leases(store::Session& session, Task& task);
  bool apply_changes(store::Session& session, Task& task);
  bool reconcile(store::Session& session, Task& task);
  bool purge(store::Session& session, Task& task, store::PurgeWalk& walk);
  bool give_up_held(store::Session& session, Task& task);
  bool erase_secrets(store::Session& session, Task& task);
  bool bring_forward(store::Session& session, Task& task);
  bool release_deferred(store::Session& session, Task& task);
  bool feed_replays(store::Session& session, Task& task);

  config::DeliverySettings delivery_;
  config::RetentionSettings retention_;
  platform::Log log_;
  const Metrics& metrics_;
  std::array<Task, 15> tasks_;
  platform::MonotonicTime resting_until_{};

  std::function<std::set<delivery::DeliveryId>()> unrecorded_ = [] {
    return std::set<delivery::DeliveryId>{};
  };
  std::optional<store::ClockSight> first_sight_;  // of the database's clock
  bool clock_jumped_ = false;
  store::ReconcileWalk reconciliation_;
  store::ReconcileWalk::Changed reconciled_;  // since a walk that changed nothing
  store::HeldWalk held_;
  store::ChangeWalk changes_;
  std::vector<delivery::WebhookId> changed_;  // for take_changed()
  store::ForwardWalk forward_;
  std::vector<delivery::WebhookId> due_;  // for take_due()
  store::DeferredWalk deferred_;
  std::set<delivery::EntityId> released_;  // for take_released()
  store::ReplayWalk replays_;
  store::PurgeWalk follower_;
  store::PurgeWalk sweeper_{true};
  unsigned window_ = 512;  // rows of a purge's batch; adapts to the time that a batch takes
  OncePerMinute purged_;   // rows
};

}  // namespace dispatcher
