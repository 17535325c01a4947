#include "results/result_buffer.hpp"

#include <algorithm>
#include <set>

#include "delivery/classify.hpp"
#include "store/deliveries/lease.hpp"
#include "store/session/isolate.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t batch_size = 500;
constexpr auto quarantine_time = 5s;        // a webhook whose row somebody holds, or that was refused,
constexpr auto between_looks = 100ms;       // or until the row is free
constexpr auto refused_for = 1s;            // between tries while all are refused
constexpr std::size_t enough_to_tell = 20;  // refused, and none taken since: all are

}  // namespace

ResultBuffer::ResultBuffer(const platform::DeliverySettings& settings, const platform::Log& log,
                           const Metrics& metrics, platform::Heartbeat& heartbeat)
    : settings_(settings),
      log_(log),
      metrics_(metrics),
      heartbeat_(heartbeat),
      random_(std::random_device{}()) {}

void ResultBuffer::add(const delivery::Attempt& attempt) {
  if (attempt.transport != delivery::TransportResult::not_started) metrics_.count_attempt(attempt);
  if (attempt.transport == delivery::TransportResult::not_started) {
    unreleased_.push_back(attempt.delivery);
  } else if (attempt.transport == delivery::TransportResult::local_failure) {
    // Not the receiver's fault, so no attempt of its own: it is tried again when the lease expires.
    log_.error("attempt not made: this host lacks descriptors or memory, or cannot read delivery.ca_file",
               {{"delivery", attempt.delivery.id}, {"webhook", attempt.delivery.webhook}});
    done_.push_back({attempt.delivery.webhook, attempt.delivery.entity, {}});
  } else {
    const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
    unrecorded_.push_back(delivery::classify(attempt, settings_, chance, platform::utc_now()));
    log_attempt(attempt, unrecorded_.back());
  }
}

void ResultBuffer::hold(const delivery::LeasedDelivery& delivery) {
  log_.error(delivery.test
                 ? "the secret of a webhook or the data of a test event cannot be decrypted: the delivery is "
                   "held (check secrets.key_file)"
                 : "the secret of a webhook cannot be decrypted: its deliveries are held (check "
                   "secrets.key_file)",
             {{"webhook", delivery.webhook}, {"delivery", delivery.id}});
  unrecorded_.push_back(hold_unreadable(delivery));
}

bool ResultBuffer::record(store::Session& session) {
  const auto now = platform::monotonic_now();
  std::erase_if(quarantine_, [&](const auto& entry) { return now >= entry.second.until; });
  if (!quarantine_.empty() && now >= next_bring_back_) bring_back_unlocked(session, now);
  bool got_on = false;
  if (!refused_ || now >= next_try_) {
    const auto batch = next_batch();
    const auto quarantined_before = quarantine_.size();
    // Where some rows are held, more may be: looking costs less than a second's wait.
    got_on = write(session, quarantine_.empty() ? batch : keep_unlocked(session, batch));
    got_on = got_on || quarantine_.size() > quarantined_before;
  }
  return release(session, now) || got_on;
}

/// True: some were given back.
bool ResultBuffer::release(store::Session& session, platform::MonotonicTime now) {
  if (unreleased_.empty() || now < next_release_) return false;
  next_release_ = now + refused_for;
  const auto held = store::release_leases(session, unreleased_);
  next_release_ = held.empty() ? platform::MonotonicTime{} : now + between_looks;
  std::set<std::pair<delivery::DeliveryId, std::uint64_t>> left;
  for (const auto& delivery : held) left.emplace(delivery.id, delivery.lease);
  for (const auto& delivery : unreleased_) {
    if (!left.contains({delivery.id, delivery.lease}))
      done_.push_back({delivery.webhook, delivery.entity, platform::Milliseconds{}});
  }
  const bool any = held.size() < unreleased_.size();
  unreleased_ = held;
  return any;
}

/// Written, or given up.
void ResultBuffer::finish(const Batch& batch) {
  // One delivery may be here twice: its lease ended while the database was away, and it was sent again.
  std::set<std::pair<delivery::DeliveryId, std::uint64_t>> attempts;
  for (const auto& delivery_result : batch) {
    attempts.emplace(delivery_result.id, delivery_result.lease);
    quarantine_.erase(delivery_result.webhook);
    refusals_.erase(delivery_result.id);
    const bool again = delivery_result.state == delivery::DeliveryState::pending;
    done_.push_back({delivery_result.webhook, delivery_result.entity,
                     again ? std::optional(delivery_result.wait) : std::nullopt});
  }
  const auto decided = [&](const auto& kept) { return attempts.contains({kept.id, kept.lease}); };
  std::erase_if(unrecorded_, decided);
}

std::size_t ResultBuffer::quarantined() const {
  if (quarantine_.empty()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(unrecorded_, [this](const auto& delivery_result) {
    return quarantine_.contains(delivery_result.webhook);
  }));
}

/// The oldest, without those of webhooks that are quarantined.
ResultBuffer::Batch ResultBuffer::next_batch() const {
  Batch batch;
  for (const auto& delivery_result : unrecorded_) {
    if (batch.size() == batch_size) break;
    if (!quarantine_.contains(delivery_result.webhook)) batch.push_back(delivery_result);
  }
  return batch;
}

void ResultBuffer::quarantine(delivery::WebhookId webhook, bool held) {
  quarantine_[webhook] = {platform::monotonic_now() + quarantine_time, held};
}

/// As soon as nobody holds their rows any more: the lease of what has been delivered goes on.
void ResultBuffer::bring_back_unlocked(store::Session& session, platform::MonotonicTime now) {
  next_bring_back_ = now + between_looks;
  Batch held;
  for (const auto& delivery_result : unrecorded_) {
    const auto found = quarantine_.find(delivery_result.webhook);
    if (held.size() < batch_size && found != quarantine_.end() && found->second.held)
      held.push_back(delivery_result);
  }
  if (held.empty()) return;
  for (const auto& delivery_result : held) quarantine_.erase(delivery_result.webhook);
  keep_unlocked(session, held);
}

/// Without those whose rows somebody holds, which are quarantined together: a wait for each would hold up
/// all.
ResultBuffer::Batch ResultBuffer::keep_unlocked(store::Session& session, const Batch& batch) {
  const auto unlocked = store::find_unlocked(session, batch);
  Batch rest;
  for (const auto& delivery_result : batch) {
    if (unlocked.contains(delivery_result.webhook))
      rest.push_back(delivery_result);
    else
      quarantine(delivery_result.webhook, true);
  }
  return rest;
}

/// True: some of them are done with.
bool ResultBuffer::write(store::Session& session, const Batch& batch) {
  if (batch.empty()) return false;
  heartbeat_.beat();
  try {
    report(batch, store::record_results(session, batch, settings_.disable_after));
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::LockTimeout& error) {
    log_.warning("a row is locked by another session; the results of its webhook wait",
                 {{"error", error.what()}});
    const auto rest = keep_unlocked(session, batch);
    return rest.size() < batch.size() ? write(session, rest) : write_by_webhook(session, batch);
  } catch (const store::Conflict&) {
    throw;
  } catch (const store::DatabaseError& error) {
    log_.error("results cannot be recorded", {{"count", batch.size()}, {"error", error.what()}});
    return write_isolated(session, batch);
  }
  recorded(batch);
  return true;
}

void ResultBuffer::recorded(const Batch& batch) {
  ++written_;
  refused_ = false;
  finish(batch);
}

/// Somebody holds a row, and it is not seen which. It ends with the first that waits in vain: a second has
/// passed, and the rest has its turn in the next batch.
bool ResultBuffer::write_by_webhook(store::Session& session, const Batch& batch) {
  std::map<delivery::WebhookId, Batch> groups;
  for (const auto& delivery_result : batch) groups[delivery_result.webhook].push_back(delivery_result);
  if (groups.size() == 1) {
    quarantine(batch.front().webhook, false);
    return false;
  }
  bool any = false;
  for (const auto& [webhook, group] : groups) {
    if (!write(session, group)) break;
    any = true;
  }
  return any;
}

/// Of a batch of which some is refused. Rows that somebody holds must not keep the other parts from their
/// turn.
bool ResultBuffer::write_part(store::Session& session, const Batch& part) {
  heartbeat_.beat();
  try {
    report(part, store::record_results(session, part, settings_.disable_after));
  } catch (const store::LockTimeout&) {
    return keep_unlocked(session, part).size() == part.size() && write_by_webhook(session, part);
  } catch (const store::Conflict&) {
    return false;  // it stays for the next batch
  }
  recorded(part);
  return true;
}

/// True: some of them are done with. Whatever the error says: whether others are taken tells whom it
/// concerns.
bool ResultBuffer::write_isolated(store::Session& session, const Batch& batch) {
  bool any = false;
  bool all_refused = false;
  store::isolate<store::DatabaseError>(
      batch,
      [&](const Batch& part) {
        if (!all_refused) any = write_part(session, part) || any;
      },
      [&](const delivery::DeliveryResult& delivery_result, const store::DatabaseError&) {
        any = refuse(delivery_result) || any;
        all_refused = refused_;
      });
  return any;
}

/// One that is refused while others are taken is given up: its delivery is attempted again after its lease.
/// When all are, it is not their fault: they are kept. True: given up.
bool ResultBuffer::refuse(const delivery::DeliveryResult& delivery_result) {
  quarantine(delivery_result.webhook, false);
  const auto written_before = refusals_.try_emplace(delivery_result.id, written_).first->second;
  if (written_ > written_before) {
    log_.error("a refused result is given up; its delivery is attempted again after the lease",
               {{"delivery", delivery_result.id}});
    finish({delivery_result});
    return true;
  }
  const auto since = std::ranges::count(refusals_, written_, &decltype(refusals_)::value_type::second);
  refused_ = static_cast<std::size_t>(since) >= enough_to_tell;
  next_try_ = platform::monotonic_now() + refused_for;
  return false;
}

/// Counts what was recorded. A batch whose COMMIT was not acknowledged comes back as stale: it is counted by
/// nobody.
void ResultBuffer::report(const Batch& batch, const store::RecordSummary& result) const {
  for (const auto& delivery_result : batch) {
    if (!result.stale.contains({delivery_result.id, delivery_result.lease}))
      metrics_.count_result(delivery_result);
  }
  if (!result.stale.empty()) {
    log_.warning("results discarded: this dispatcher no longer holds the leases of their deliveries",
                 {{"deliveries", result.stale.size()}});
  }
  for (const auto webhook : result.deactivated) {
    log_.warning("webhook deactivated: its receiver answered 410, or failed for delivery.disable_after",
                 {{"webhook", webhook}});
  }
  metrics_.deactivated.add(result.deactivated.size());
}

void ResultBuffer::log_attempt(const delivery::Attempt& attempt,
                               const delivery::DeliveryResult& delivery_result) const {
  const auto& delivery = attempt.delivery;
  const std::initializer_list<platform::LogField> fields = {{"delivery", delivery.id},
                                                            {"notification", delivery.notification},
                                                            {"entity", delivery.entity},
                                                            {"webhook", delivery.webhook},
                                                            {"event", webhook::name(delivery.event)},
                                                            {"attempt", delivery.attempts + 1},
                                                            {"duration_ms", attempt.duration.count()},
                                                            {"status", attempt.status},
                                                            {"error", delivery_result.error}};
  if (delivery_result.state == delivery::DeliveryState::delivered) {
    log_.debug("delivered", fields);
  } else if (delivery_result.state == delivery::DeliveryState::failed) {
    log_.warning("delivery failed: no retries left", fields);
  } else {
    log_.info("attempt failed", fields);
  }
}

}  // namespace dispatcher
