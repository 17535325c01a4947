// Reads the notifications of a batch and writes their deliveries in one short transaction. If that is refused
// or meets a lock, does so in parts, each in a transaction of its own.
#pragma once

#include <vector>

#include "dispatcher/fan_out/fan_out_batch.hpp"
#include "dispatcher/fan_out/rejections.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/schedule/leased_batch.hpp"
#include "dispatcher/schedule/ready_set.hpp"

namespace dispatcher {

class FanOutWriter {
 public:
  /// `session`, `ready`, `slots`, `passed_over` and `metrics` outlive this object.
  FanOutWriter(store::Session& session, ReadySet& ready, FairSlots& slots, PassedOver& passed_over,
               platform::Milliseconds lease, const platform::Log& log, const Metrics& metrics)
      : session_(session),
        ready_(ready),
        slots_(slots),
        metrics_(metrics),
        rejections_(passed_over, log, metrics),
        leases_(lease) {}

  struct Written {
    Outcomes outcomes;                        // of every notification
    std::set<delivery::EntityId> with_large;  // entities with data too long to be read with its row
  };
  /// A notification that the database refuses for its content, even in a transaction of its own, goes to
  /// Rejections. Throws errors of the session or the server; then `into` has the deliveries that were created
  /// and leased before the error.
  Written write(const std::vector<store::NotificationKey>& rows, Ahead ahead, LeasedBatch& into);

  Rejections& rejections() { return rejections_; }

 private:
  struct Part;
  /// Adds to `with_large` even if it throws.
  Outcomes write_part(const std::vector<store::NotificationKey>& rows, Ahead ahead, store::LockedBy locked_by,
                      std::set<delivery::EntityId>& with_large, LeasedBatch& into);
  void append(Part& part, LeasedBatch& into);
  Outcome blame(const store::NotificationKey& notification, const store::DatabaseError& error);

  store::Session& session_;
  ReadySet& ready_;
  FairSlots& slots_;
  const Metrics& metrics_;
  Rejections rejections_;
  LeaseSource leases_;
};

}  // namespace dispatcher
