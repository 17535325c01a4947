// Fans out: decides which notifications become deliveries, and when.
#pragma once

#include <optional>
#include <vector>

#include "dispatcher/intake/fan_out_batch.hpp"
#include "dispatcher/intake/fan_out_writer.hpp"
#include "dispatcher/intake/leased_batch.hpp"
#include "dispatcher/intake/pacer.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "lib/platform/config/config.hpp"

namespace dispatcher {

class FanOut {
 public:
  /// `session`, `scanner`, `slots`, `metrics` and `newer` outlive it.
  FanOut(store::Session& session, QueueScanner& scanner, FairSlots& slots,
         const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics,
         NewerRows& newer);
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  // Each `run…` appends to `into` even if it throws: what has been leased must be sent. It throws errors of
  // the session or the server. If the database refuses a notification, only that one waits.

  /// Fans out what can be sent at once, as far as the slots go: new notifications in the order of arrival,
  /// and entities with many notifications in turns.
  void run(LeasedBatch& into);

  /// Fans out what run() leaves: notifications of busy entities, with deliveries that wait for a slot, and of
  /// suspect entities (the database refuses something of them), one at a time. Takes only a share of the
  /// loop's time, so that it delays nothing that can be sent.
  void run_ahead(LeasedBatch& into);

  /// Creates the deliveries of notifications with rows that another session keeps locked, and marks the rows
  /// `procesada` once the locks are gone: a writer's lock must not delay a notification.
  void run_locked(LeasedBatch& into);
  /// When `run_locked` has something to do; none: not until something is locked.
  std::optional<platform::MonotonicTime> next_locked() const { return locked_.next_due(); }

 private:
  using Pick = ReadyEntities::Pick;
  void run(FanOutBatch batch, Ahead ahead, LeasedBatch& into);
  bool run_ahead(Pacer& pacer, Pick pick, unsigned entities, unsigned rows, LeasedBatch& into);
  void retry_locked(LeasedBatch& into);
  void mark_fanned_out();

  store::Session& session_;
  QueueScanner& scanner_;
  FairSlots& slots_;
  unsigned most_of_entity_;  // most deliveries in flight at once
  Pacer busy_pacer_{10};
  Pacer suspect_pacer_{10};
  Pacer large_pacer_{25};  // percent of the time, while other notifications wait
  First first_ = First::line;
  LockedNotifications locked_;
  FanOutReader reader_;
  FanOutWriter writer_;
};

}  // namespace dispatcher
