// Writes the deliveries of a batch in one short transaction. If that is refused or meets a lock, writes the
// batch in parts, each in a transaction of its own.
#pragma once

#include <vector>

#include "dispatcher/claims/leased_batch.hpp"
#include "dispatcher/fan_out/fan_out_batch.hpp"
#include "dispatcher/fan_out/quarantine.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/scan/queue_scanner.hpp"

namespace dispatcher {

class FanOutWriter {
 public:
  /// `session`, `scanner`, `slots` and `metrics` outlive this object.
  FanOutWriter(store::Session& session, QueueScanner& scanner, FairSlots& slots, platform::Milliseconds lease,
               const platform::Log& log, const Metrics& metrics)
      : session_(session),
        scanner_(scanner),
        slots_(slots),
        log_(log),
        metrics_(metrics),
        quarantine_(log, metrics),
        leases_(lease) {}

  // The two functions below return the outcome of every notification. They throw errors of the session or the
  // server; then `into` has the deliveries that were created and leased before the error.

  /// A notification that the database refuses for its content, even in a transaction of its own, goes to
  /// Quarantine.
  Outcomes write(const std::vector<JudgedNotification>& notifications, Ahead ahead, LeasedBatch& into);

  /// Writes the deliveries of notifications with rows that another session has locked, without touching those
  /// rows (docs/delivery.md#locked-notifications).
  Outcomes write_past_locks(const std::vector<JudgedNotification>& notifications, LeasedBatch& into);

 private:
  struct Written;
  template <class Lock, class Write>
  Written run_transaction(const std::vector<JudgedNotification>& part, Ahead ahead, Lock&& lock,
                          Write&& write);
  Outcomes write_part(const std::vector<JudgedNotification>& part, Ahead ahead, LeasedBatch& into);
  Outcomes write_part_past_locks(const std::vector<JudgedNotification>& part, LeasedBatch& into);
  void append(const std::vector<JudgedNotification>& part, Written& written, LeasedBatch& into);
  Outcome blame(const JudgedNotification& notification, const store::DatabaseError& error);
  void report(const store::FanOut& fan_out) const;

  store::Session& session_;
  QueueScanner& scanner_;
  FairSlots& slots_;
  platform::Log log_;
  const Metrics& metrics_;
  Quarantine quarantine_;
  LeaseSource leases_;
};

}  // namespace dispatcher
