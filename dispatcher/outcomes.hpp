// What became of attempts, from the network back to the database.
//
// It promises: an outcome is kept until it is written, while the database is away and while it refuses all.
// One that it refuses among others that it takes, and a row that somebody holds, keep no other from being
// written.
#pragma once

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "attempt.hpp"
#include "metrics.hpp"
#include "platform/config.hpp"
#include "platform/log.hpp"
#include "store/session.hpp"
#include "store/settlement.hpp"

namespace dispatcher {

class Outcomes {
 public:
  /// `metrics` outlives it.
  Outcomes(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);

  void add(const Attempt& attempt);
  /// Its secret cannot be read: it is held, without an attempt.
  void hold(const store::LeasedDelivery& delivery);

  /// Writes them down in batches; what could not be written stays. True: something was written. Throws
  /// store::Unavailable and store::Conflict.
  bool settle(store::Session& session);

  /// The database takes none of them: nothing more should be started.
  bool refused() const { return refused_; }

  /// When deliveries that were given back or failed are due again, from now on; each is told once.
  struct Wake {
    store::WebhookId webhook;
    platform::Milliseconds wait;
  };
  std::vector<Wake> take_wakes() { return std::exchange(wakes_, {}); }

  std::size_t waiting() const { return unsettled_.size() + unreleased_.size(); }

 private:
  using Batch = std::vector<store::Settlement>;
  Batch next_batch(platform::MonotonicTime now) const;
  Batch write(store::Session& session, const Batch& batch);
  Batch write_by_webhook(store::Session& session, const Batch& batch);
  Batch write_one_by_one(store::Session& session, const Batch& batch);
  void set_aside(store::WebhookId webhook);
  void bring_back_unlocked(store::Session& session, platform::MonotonicTime now);
  void report(const store::SettleResult& result) const;
  void log_attempt(const Attempt& attempt, const store::Settlement& settlement) const;

  platform::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  std::mt19937_64 random_;
  Batch unsettled_;
  std::vector<store::LeasedDelivery> unreleased_;  // never started
  std::vector<Wake> wakes_;
  std::map<store::WebhookId, platform::MonotonicTime> set_aside_;  // until when, at most
  platform::MonotonicTime next_bring_back_{};
  std::map<store::DeliveryId, unsigned> refusals_;  // of those that were alone
  bool refused_ = false;
  platform::MonotonicTime next_try_{};  // while refused_
};

}  // namespace dispatcher
