// What became of attempts, from the network back to the database.
//
// It promises: an outcome is kept until it is written, also while the database is away; one that the database
// refuses keeps no other from being written.
#pragma once

#include <random>
#include <vector>

#include "attempt.hpp"
#include "platform/config.hpp"
#include "platform/log.hpp"
#include "store/session.hpp"
#include "store/settlement.hpp"

namespace dispatcher {

class Outcomes {
 public:
  Outcomes(const platform::DeliverySettings& settings, const platform::Log& log);

  void add(const Attempt& attempt);
  /// Its secret cannot be read: it is held, without an attempt.
  void hold(const store::LeasedDelivery& delivery);

  /// Writes them down in batches; what could not be written stays. Returns what was written. Throws
  /// store::Unavailable and store::Conflict.
  std::vector<store::Settlement> settle(store::Session& session);

  std::size_t waiting() const { return unsettled_.size() + unreleased_.size(); }

 private:
  void settle_batch(store::Session& session, const std::vector<store::Settlement>& batch) const;
  void log_attempt(const Attempt& attempt, const store::Settlement& settlement) const;

  platform::DeliverySettings settings_;
  platform::Log log_;
  std::mt19937_64 random_;
  std::vector<store::Settlement> unsettled_;
  std::vector<store::LeasedDelivery> unreleased_;  // never started
};

}  // namespace dispatcher
