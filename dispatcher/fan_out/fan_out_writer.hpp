// Writes the deliveries of a batch in one short transaction. If that is refused or meets a lock, writes the
// batch in parts, each in a transaction of its own.
#pragma once

#include <vector>

#include "dispatcher/claims/leased_batch.hpp"
#include "dispatcher/fan_out/fan_out_batch.hpp"
#include "dispatcher/fan_out/rejections.hpp"
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
        metrics_(metrics),
        rejections_(log, metrics),
        leases_(lease) {}

  /// Returns the outcome of every notification. A notification that the database refuses for its content,
  /// even in a transaction of its own, goes to Rejections. Throws errors of the session or the server; then
  /// `into` has the deliveries that were created and leased before the error.
  Outcomes write(const std::vector<JudgedNotification>& notifications, Ahead ahead, LeasedBatch& into);

  Rejections& rejections() { return rejections_; }

 private:
  struct Written;
  Outcomes write_part(const std::vector<JudgedNotification>& part, Ahead ahead, store::LockedBy locked_by,
                      LeasedBatch& into);
  void append(const std::vector<JudgedNotification>& part, Written& written, LeasedBatch& into);
  Outcome blame(const JudgedNotification& notification, const store::DatabaseError& error);

  store::Session& session_;
  QueueScanner& scanner_;
  FairSlots& slots_;
  const Metrics& metrics_;
  Rejections rejections_;
  LeaseSource leases_;
};

}  // namespace dispatcher
