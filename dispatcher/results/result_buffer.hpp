// What became of attempts, from the network back to the database.
//
// It promises: a result is kept until it is recorded, while the database is away and while it refuses all.
// Those that it refuses while it takes others, and rows that somebody holds, keep no other from being
// written: their webhooks' results wait apart, and are tried again a few at a time. Used by one thread.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "dispatcher/observation/metrics.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/watchdog.hpp"
#include "lib/store/deliveries/results.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class ResultBuffer {
 public:
  /// `metrics` and `heartbeat` outlive it; the latter is beaten before all that may wait for somebody's lock.
  ResultBuffer(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics,
               platform::Heartbeat& heartbeat);

  void add(const delivery::Attempt& attempt);
  void hold(const delivery::HeldDelivery& held);

  /// Writes a batch of them down; what could not be written stays. True: it got on, and there may be more.
  /// Throws store::Unavailable and store::Conflict.
  bool record(store::Session& session);

  /// The database takes none of them: nothing more should be started.
  bool refused() const { return refused_; }

  /// What is done with: recorded, given back, given up or no result at all. Each is told once.
  struct Done {
    delivery::WebhookId webhook;
    delivery::EntityId entity;
    delivery::AttemptKind kind;
    bool delivered;
    std::optional<platform::Milliseconds> wait;  // the delivery is due again after that, from now on
  };
  std::vector<Done> take_done() { return std::exchange(done_, {}); }

  std::size_t waiting() const { return unrecorded_.size() + quarantined_ + unreleased_.size(); }
  /// Of them, those that wait for a row that somebody holds, or that was refused.
  std::size_t quarantined() const { return quarantined_; }

 private:
  using Batch = std::vector<delivery::DeliveryResult>;
  /// A webhook whose results wait apart.
  struct Quarantine {
    Batch results;
    platform::Milliseconds wait{};  // the last one
    platform::MonotonicTime until{};
    bool tried = false;  // its results are among the others again, and not recorded yet
  };
  store::FailurePolicy policy() const;
  void enqueue(const delivery::DeliveryResult& delivery_result);
  Batch next_batch();
  bool write(store::Session& session, const Batch& batch);
  bool write_isolated(store::Session& session, const Batch& batch);
  bool settle(const Batch& batch, const store::RecordSummary& summary);
  void set_aside(const delivery::DeliveryResult& delivery_result, platform::Milliseconds wait);
  void set_aside_held(const delivery::DeliveryResult& delivery_result);
  void bring_back(platform::MonotonicTime now);
  void bring_back(Quarantine& quarantine);
  bool refuse(const delivery::DeliveryResult& delivery_result);
  void finish(const delivery::DeliveryResult& delivery_result);
  void forget(const Batch& batch);
  bool release(store::Session& session, platform::MonotonicTime now);
  void report(const Batch& recorded, const store::RecordSummary& summary) const;
  void log_attempt(const delivery::Attempt& attempt, const delivery::DeliveryResult& delivery_result) const;

  platform::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  platform::Heartbeat& heartbeat_;
  std::mt19937_64 random_;
  std::deque<delivery::DeliveryResult> unrecorded_;   // but for those in quarantine
  std::vector<delivery::LeasedDelivery> unreleased_;  // never started
  platform::MonotonicTime next_release_{};
  std::vector<Done> done_;
  std::map<delivery::WebhookId, Quarantine> quarantine_;
  std::multimap<platform::MonotonicTime, delivery::WebhookId> brought_back_at_;  // some of it out of date
  std::size_t quarantined_ = 0;                                                  // results
  std::uint64_t written_ = 0;                                                    // batches so far
  std::map<delivery::DeliveryId, std::uint64_t> refusals_;  // what was refused, and `written_` at that time
  bool refused_ = false;
  platform::MonotonicTime next_try_{};  // while refused_
};

}  // namespace dispatcher
