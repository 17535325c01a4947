// Turns notifications into deliveries: which, when, and of whose turn.
#pragma once

#include <optional>
#include <vector>

#include "dispatcher/intake/fan_out_batch.hpp"
#include "dispatcher/intake/fan_out_writer.hpp"
#include "dispatcher/intake/leased_batch.hpp"
#include "dispatcher/intake/pacer.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "lib/platform/config.hpp"

namespace dispatcher {

class FanOut {
 public:
  /// `session`, `scanner`, `slots` and `metrics` outlive it.
  FanOut(store::Session& session, QueueScanner& scanner, FairSlots& slots,
         const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  // Each appends to `into`, also when it throws: what has been leased is to be sent. They throw what concerns
  // the session or the server; a notification that the database refuses waits alone.

  /// In the order of arrival, and entities with many in turn: what can be sent at once, as far as the slots
  /// go.
  void run(LeasedBatch& into);

  /// Those, too, that will have to wait, within a share of the time: fan-out never waits for capacity to
  /// send, and never takes it from what can be sent. So too, one by one, the entities of which the database
  /// refuses something.
  void run_ahead(LeasedBatch& into);

  /// Those whose rows another session keeps locked, and marks them once it does not: what any writer can do
  /// to its table keeps no notification waiting.
  void run_locked(LeasedBatch& into);
  /// When `run_locked` has something to do.
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
  unsigned most_of_entity_;  // in flight at once
  platform::Log log_;
  Pacer busy_pacer_{10};
  Pacer suspect_pacer_{10};
  Pacer large_pacer_{25};  // while there are others
  First first_ = First::line;
  LockedNotifications locked_;
  FanOutReader reader_;
  FanOutWriter writer_;
};

}  // namespace dispatcher
