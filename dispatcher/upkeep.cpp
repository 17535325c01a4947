#include "upkeep.hpp"

#include "store/lease.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr auto recovery_interval = 1s;
constexpr auto reconciliation_interval = 5s;
constexpr auto purge_interval = 1s;  // between batches while there is something to look at
constexpr auto purge_rest = 10min;   // after the end of the tables
constexpr unsigned recovery_batch = 500;
constexpr unsigned reconciliation_batches = 4;  // of store::batch_rows each, so that nobody waits for long

}  // namespace

void Upkeep::run(store::Session& session, platform::MonotonicTime now) {
  if (now >= next_recovery_) {
    recover_leases(session);
    next_recovery_ = now + recovery_interval;
  }
  if (now >= next_reconciliation_) {
    reconcile(session);
    next_reconciliation_ = now + reconciliation_interval;
  }
  if (now >= next_purge_) purge(session, now);
}

void Upkeep::recover_leases(store::Session& session) {
  if (const auto recovered = store::recover_expired_leases(session, recovery_batch); recovered > 0) {
    log_.warning("expired leases recovered: these deliveries are attempted again",
                 {{"deliveries", recovered}});
  }
}

void Upkeep::reconcile(store::Session& session) {
  const auto cancelled = store::cancel_deliveries_of_deleted(session, reconciliation_batches);
  const auto held = store::hold_deliveries_of_inactive(session, reconciliation_batches);
  const auto released = store::release_deliveries_of_active(session, reconciliation_batches);
  if (cancelled + held + released == 0) return;
  log_.info("deliveries follow their webhooks",
            {{"cancelled", cancelled}, {"held", held}, {"released", released}});
}

void Upkeep::purge(store::Session& session, platform::MonotonicTime now) {
  const auto purged = store::purge_finished(session, retention_, cursor_, 1);
  if (purged > 0) log_.info("finished rows past their retention removed", {{"rows", purged}});
  next_purge_ = now + purge_interval;
  if (!cursor_.done()) return;
  cursor_ = {};
  next_purge_ = now + purge_rest;
}

}  // namespace dispatcher
