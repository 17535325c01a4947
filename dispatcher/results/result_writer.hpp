// The thread that records results. It has its own database session, so that the dispatcher's loop can claim
// the next deliveries while the database makes a transaction durable. The loop never waits for this thread.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <variant>
#include <vector>

#include "dispatcher/results/result_buffer.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/watchdog.hpp"

namespace dispatcher {

class ResultWriter {
 public:
  /// `metrics` outlives this object. An idle session is checked every `between_looks`.
  ResultWriter(const config::DeliverySettings& settings, store::Session session,
               platform::Milliseconds between_looks, const platform::Log& log, const Metrics& metrics);
  /// Ends the thread. A result not recorded by then is lost: its delivery is attempted again after the lease.
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  void add(std::vector<delivery::Attempt> attempts);
  void hold(std::vector<delivery::HeldDelivery> deliveries);

  /// Returns each Done once.
  std::vector<ResultBuffer::Done> take_done() { return done_.take(); }
  /// A descriptor, readable when take_done() has something to return.
  int fd() const { return done_.fd(); }

  /// The number of items given to add() and hold() that are not done; never too low.
  std::size_t waiting() const;
  /// waiting() without the postponed results: those wait because a row of their webhook is locked or a result
  /// of it was refused, and they delay no other results.
  std::size_t backlog() const;
  /// The deliveries with results that the last batch left. Their leases may end before these are recorded.
  std::set<delivery::DeliveryId> unrecorded() const;
  /// True: the last recording failed, or the database was away and the results that have waited for it are
  /// not all recorded yet. Nothing more should be started.
  bool stuck() const { return away_ || failed_now_; }
  /// True: the database refused all recent results; a few new attempts may show whether it accepts any again.
  bool refusing() const { return refused_; }
  bool away() const { return away_; }
  const platform::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  using Item = std::variant<delivery::Attempt, delivery::HeldDelivery>;

  void submit(std::vector<Item> items);
  void run(const std::stop_token& stop);
  void gather(platform::MonotonicTime last_start) const;
  void take();
  bool record();
  void look_alive();
  void publish();
  void wait(platform::Milliseconds longest, bool for_more) const;

  platform::Milliseconds between_looks_;
  platform::Log log_;
  platform::Heartbeat heartbeat_;
  store::Session session_;
  ResultBuffer buffer_;
  platform::Mailbox<Item> items_;
  platform::Mailbox<ResultBuffer::Done> done_;
  mutable std::mutex unrecorded_mutex_;
  std::vector<delivery::DeliveryId> unrecorded_deliveries_;
  std::atomic<std::size_t> submitted_ = 0;  // not yet taken by the thread
  std::atomic<std::size_t> unrecorded_ = 0;
  std::atomic<std::size_t> postponed_results_ = 0;
  std::atomic<bool> refused_ = false;     // the database refuses all results
  std::atomic<bool> failed_now_ = false;  // a copy of failed_ that other threads may read
  std::atomic<bool> away_ = false;        // from a failed connection until the results that wait are recorded
  bool failed_ = false;                   // the last record() failed with an unexpected error
  platform::MonotonicTime used_{};        // when the session was last used
  std::jthread thread_;                   // last: it uses the members above
};

}  // namespace dispatcher
