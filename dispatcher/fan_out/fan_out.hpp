// Fans out: decides which notifications become deliveries, and when.
#pragma once

#include <optional>
#include <vector>

#include "dispatcher/fan_out/fan_out_report.hpp"
#include "dispatcher/fan_out/fan_out_writer.hpp"
#include "dispatcher/fan_out/passed_over.hpp"
#include "dispatcher/observation/once_per_minute.hpp"
#include "dispatcher/scan/pacer.hpp"
#include "dispatcher/schedule/leased_batch.hpp"
#include "dispatcher/schedule/ready_set.hpp"
#include "lib/config/config.hpp"

namespace dispatcher {

class FanOut {
 public:
  /// `session`, `ready`, `slots` and `metrics` outlive this object.
  FanOut(store::Session& session, ReadySet& ready, FairSlots& slots, const config::DeliverySettings& settings,
         const platform::Log& log, const Metrics& metrics);
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  // Each `run…` appends to `into` even if it throws: what has been leased must be sent. It throws errors of
  // the session or the server. If the database refuses a notification, run_sendable() goes on with other
  // entities, and leaves the entity of that notification to run_suspect(). If the search for the
  // refused notification takes too long, the entities of notifications that the batch has not written are
  // left to run_suspect(), too.

  /// Fans out what can be sent at once, as far as there are free slots: new notifications in the order of
  /// arrival, and entities with many notifications in turns.
  void run_sendable(LeasedBatch& into);

  /// Fans out notifications of entities whose data no other batch had room for, one of each entity
  /// (ReadyEntities::Kind::large). Takes only a share of the loop's time while others wait.
  void run_large(LeasedBatch& into);

  // These two fan out what run_sendable() leaves. Each takes only a share of the loop's time, so that it
  // delays nothing that can be sent.

  /// Notifications of one suspect entity: the database refused, or may refuse, one of them.
  void run_suspect(LeasedBatch& into);
  /// Notifications of busy entities: their deliveries could only wait.
  void run_ahead(LeasedBatch& into);

  /// Takes one batch of the notifications that can only be rejected, as far as is known
  /// (ReadyEntities::Kind::wrong). Needs no slot, so it goes on while run_sendable() waits for one.
  void run_wrong(LeasedBatch& into);

  /// Tries notifications again that were passed over (docs/delivery.md#notifications-that-are-passed-over).
  /// Takes only a share of the loop's time. Once a minute, logs those that have been locked for a minute.
  void run_passed_over(LeasedBatch& into);
  /// To be called while nothing is fanned out: until its next try, no row is known to be locked.
  void forget_locks();
  /// To be called at least once a minute: logs what was rejected, and left to newer releases, since the last
  /// line. `stopping`: logs the rest.
  void report(bool stopping);
  /// When run_passed_over() has something to do; nullopt: no such notification is known.
  std::optional<platform::MonotonicTime> next_passed_over() const;

 private:
  using Kind = ReadyEntities::Kind;
  void run_kind(Kind kind, unsigned entities, unsigned rows, Ahead ahead, Pacer& pacer, LeasedBatch& into);
  Selection select_line_and_turns(unsigned rows, platform::MonotonicTime now);
  std::vector<store::TakeRequest> with_slot(std::vector<store::TakeRequest> requests) const;
  void fan_out(const Selection& selection, Ahead ahead, LeasedBatch& into);
  FanOutWriter::Written write(const std::vector<store::NotificationKey>& rows, Ahead ahead,
                              LeasedBatch& into);
  void report_locked(platform::MonotonicTime now);

  store::Session& session_;
  ReadySet& ready_;
  FairSlots& slots_;
  unsigned most_of_entity_;  // most deliveries of one entity in flight at once
  Pacer busy_pacer_{10};     // percent of the loop's time
  Pacer suspect_pacer_{10};  // percent of the loop's time
  Pacer large_pacer_{25};    // percent of the loop's time, while other notifications wait
  unsigned batch_ = 0;       // counts the batches of run_sendable()
  Pacer again_pacer_{25};    // percent of the loop's time, for what was passed over
  PassedOver passed_over_;
  OncePerMinute for_newer_;
  platform::MonotonicTime next_count_{};   // of those that are locked
  platform::MonotonicTime next_report_{};  // of the same, to the log
  platform::Log log_;
  const Metrics& metrics_;
  FanOutWriter writer_;
};

}  // namespace dispatcher
