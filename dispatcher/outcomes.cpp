#include "outcomes.hpp"

#include <algorithm>

#include "classify.hpp"

namespace dispatcher {

namespace {

constexpr std::size_t batch_size = 500;

void report(const platform::Log& log, const store::SettleResult& result) {
  if (result.stale > 0) {
    log.warning("attempts ended after their lease: others own the deliveries",
                {{"deliveries", result.stale}});
  }
  for (const auto webhook : result.deactivated) {
    log.warning("webhook deactivated: its receiver fails or answered 410", {{"webhook", webhook}});
  }
}

}  // namespace

Outcomes::Outcomes(const platform::DeliverySettings& settings, const platform::Log& log)
    : settings_(settings), log_(log), random_(std::random_device{}()) {}

void Outcomes::add(const Attempt& attempt) {
  if (attempt.ending == Ending::not_started) {
    unreleased_.push_back(attempt.delivery);
  } else if (attempt.ending == Ending::local_failure) {
    // Not the receiver's fault, so no attempt of its own: it is tried again when the lease expires.
    log_.error("this host could not make an attempt (descriptors, memory, delivery.ca_file?)",
               {{"delivery", attempt.delivery.id}, {"webhook", attempt.delivery.webhook}});
  } else {
    const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
    unsettled_.push_back(classify(attempt, settings_, chance, platform::utc_now()));
    log_attempt(attempt, unsettled_.back());
  }
}

void Outcomes::hold(const store::LeasedDelivery& delivery) {
  log_.error("the secret of a webhook cannot be decrypted: its deliveries are held (check secrets.key_file)",
             {{"webhook", delivery.webhook}, {"delivery", delivery.id}});
  unsettled_.push_back(hold_unreadable(delivery));
}

std::vector<store::Settlement> Outcomes::settle(store::Session& session) {
  if (!unreleased_.empty()) {
    store::release_leases(session, unreleased_);
    unreleased_.clear();
  }
  std::vector<store::Settlement> written;
  while (!unsettled_.empty()) {
    const auto end =
        unsettled_.begin() + static_cast<std::ptrdiff_t>(std::min(unsettled_.size(), batch_size));
    settle_batch(session, {unsettled_.begin(), end});
    written.insert(written.end(), unsettled_.begin(), end);
    unsettled_.erase(unsettled_.begin(), end);
  }
  return written;
}

/// One that the database refuses must not keep the rest of its batch from being written: then each goes
/// alone.
void Outcomes::settle_batch(store::Session& session, const std::vector<store::Settlement>& batch) const {
  try {
    report(log_, store::settle(session, batch, settings_.disable_after));
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::Conflict&) {
    throw;
  } catch (const store::DatabaseError& error) {
    if (batch.size() > 1) {
      for (const auto& settlement : batch) settle_batch(session, {settlement});
      return;
    }
    log_.error("an outcome cannot be recorded: the delivery is attempted again after its lease",
               {{"delivery", batch.front().id}, {"error", error.what()}});
  }
}

void Outcomes::log_attempt(const Attempt& attempt, const store::Settlement& settlement) const {
  const auto& delivery = attempt.delivery;
  const std::initializer_list<platform::LogField> fields = {{"delivery", delivery.id},
                                                            {"notification", delivery.notification},
                                                            {"entity", delivery.entity},
                                                            {"webhook", delivery.webhook},
                                                            {"event", webhook::name(delivery.event)},
                                                            {"attempt", delivery.attempts + 1},
                                                            {"duration_ms", attempt.duration.count()},
                                                            {"status", attempt.status},
                                                            {"error", settlement.error}};
  if (settlement.state == store::SettledState::delivered) {
    log_.debug("delivered", fields);
  } else if (settlement.state == store::SettledState::failed) {
    log_.warning("delivery failed for good", fields);
  } else {
    log_.info("attempt failed", fields);
  }
}

}  // namespace dispatcher
