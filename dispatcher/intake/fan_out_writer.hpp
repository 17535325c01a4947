// Writes a batch's deliveries: one short transaction or, where the database refuses some of it, several.
#pragma once

#include <vector>

#include "dispatcher/intake/fan_out_batch.hpp"
#include "dispatcher/intake/leased_batch.hpp"
#include "dispatcher/intake/quarantine.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "dispatcher/observation/metrics.hpp"

namespace dispatcher {

class FanOutWriter {
 public:
  /// All that it is given outlives it.
  FanOutWriter(store::Session& session, QueueScanner& scanner, FairSlots& slots, LockedNotifications& locked,
               platform::Milliseconds lease, const platform::Log& log, const Metrics& metrics)
      : session_(session),
        scanner_(scanner),
        slots_(slots),
        locked_(locked),
        log_(log),
        metrics_(metrics),
        quarantine_(log, metrics),
        leases_(lease) {}

  /// Appends to `into`, also when it throws. A notification that the database refuses is put aside, alone;
  /// one that is locked is handed to `locked`. Throws what concerns the session or the server.
  void write(FanOutBatch& batch, Ahead ahead, LeasedBatch& into);

  /// The same of notifications whose rows another session has locked (docs/delivery.md#locked-notifications):
  /// what they become is written without touching their rows.
  void write_past_locks(const std::vector<JudgedNotification>& notifications, LeasedBatch& into);

 private:
  struct Written;
  template <class Lock, class Write>
  Written write(const std::vector<JudgedNotification>& part, Ahead ahead, Lock&& lock, Write&& write);
  void write_part(const std::vector<JudgedNotification>& part, FanOutBatch& batch, Ahead ahead,
                  LeasedBatch& into);
  void write_part_past_locks(const std::vector<JudgedNotification>& part, LeasedBatch& into);
  void append(const std::vector<JudgedNotification>& part, Written& written, LeasedBatch& into);
  void blame(const JudgedNotification& notification, const store::DatabaseError& error, FanOutBatch& batch);
  void report(const store::FanOut& fan_out) const;

  store::Session& session_;
  QueueScanner& scanner_;
  FairSlots& slots_;
  LockedNotifications& locked_;
  platform::Log log_;
  const Metrics& metrics_;
  Quarantine quarantine_;
  LeaseSource leases_;
};

}  // namespace dispatcher
