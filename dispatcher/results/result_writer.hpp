// The thread that writes down what became of attempts, on a database session of its own: while its
// transaction is made durable, the loop fetches what is to be sent next.
//
// It promises what result_buffer.hpp does, and that the loop never waits for it.
#pragma once

#include <atomic>
#include <thread>
#include <variant>
#include <vector>

#include "dispatcher/results/result_buffer.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/watchdog.hpp"

namespace dispatcher {

class ResultWriter {
 public:
  /// `metrics` outlives it. A session without work is looked at every `between_looks`.
  ResultWriter(const platform::DeliverySettings& settings, store::Session session,
               platform::Milliseconds between_looks, const platform::Log& log, const Metrics& metrics);
  /// What is not written yet is attempted again after its lease.
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  void add(std::vector<delivery::Attempt> attempts);
  void hold(std::vector<delivery::HeldDelivery> deliveries);

  /// What was added or held and is done with; each comes out once.
  std::vector<ResultBuffer::Done> take_done() { return done_.take(); }
  /// Readable when there is something to take.
  int fd() const { return done_.fd(); }

  /// Of what was added and held, how much is not written; never too little.
  std::size_t waiting() const;
  /// The same without those that are quarantined, which hold up nobody.
  std::size_t backlog() const;
  /// Nothing can be written at the moment: nothing more should be started.
  bool stuck() const { return away_ || failed_now_; }
  /// All that was tried of late is refused. Whether others are is known only once there are others.
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
  std::atomic<std::size_t> submitted_ = 0;  // and not taken yet
  std::atomic<std::size_t> unrecorded_ = 0;
  std::atomic<std::size_t> quarantined_ = 0;
  std::atomic<bool> refused_ = false;     // by the database, one and all
  std::atomic<bool> failed_now_ = false;  // as failed_
  std::atomic<bool> away_ = false;        // the database, or a connection to it, at the last try
  bool failed_ = false;                   // the last try, by an error of no known kind
  platform::MonotonicTime used_{};        // the session
  std::jthread thread_;                   // last: it uses the rest
};

}  // namespace dispatcher
