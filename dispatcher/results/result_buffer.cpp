#include "dispatcher/results/result_buffer.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "lib/delivery/classify.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "lib/store/session/isolate.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;
using platform::Milliseconds;

constexpr std::size_t batch_size = 500;
// The wait of a result that the database refused, or that made recording wait for a lock (only on MySQL).
constexpr auto postpone_time = 5s;
// How long the results of a webhook with a locked row wait. Each wait is twice as long as the one before, up
// to the longest. The first wait suits the short lock of another dispatcher.
constexpr Milliseconds shortest_wait{10};
constexpr Milliseconds longest_wait{100};
// Once record() has moved this many postponed results back to unrecorded_, the others wait for its next call.
constexpr std::size_t tried_at_once = 100;
constexpr auto between_releases = 100ms;  // between tries to release leases with locked rows
constexpr auto refused_for = 1s;          // between tries while all results are refused
// The database seems to refuse all results once it has refused this many since it last recorded one.
constexpr std::size_t enough_to_tell = 20;

}  // namespace

ResultBuffer::ResultBuffer(const config::DeliverySettings& settings, const platform::Log& log,
                           const Metrics& metrics)
    : settings_(settings), log_(log), metrics_(metrics), random_(std::random_device{}()) {}

void ResultBuffer::add(const delivery::Attempt& attempt) {
  if (attempt.transport != delivery::TransportResult::not_started) metrics_.count_attempt(attempt);
  if (attempt.transport == delivery::TransportResult::local_failure) note_local_fault(attempt);
  if (attempt.transport == delivery::TransportResult::not_started ||
      attempt.fault == delivery::LocalFault::stopped) {
    unreleased_.push_back(attempt.delivery);
  } else if (attempt.transport == delivery::TransportResult::local_failure) {
    // No attempt is recorded, and the delivery is sent again after its lease, because the fault may last.
    done_.push_back({attempt.delivery.webhook, attempt.delivery.entity, {}});
  } else {
    const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
    const auto delivery_result = delivery::classify(attempt, settings_, chance, platform::utc_now());
    log_attempt(attempt, delivery_result);
    enqueue(delivery_result);
  }
}

void ResultBuffer::note_local_fault(const delivery::Attempt& attempt) {
  auto& faults = local_faults_.at(static_cast<std::size_t>(attempt.fault));
  faults.attempts.add(1);
  faults.delivery = attempt.delivery.id;
  faults.webhook = attempt.delivery.webhook;
}

void ResultBuffer::report_local_faults(bool stopping) {
  const auto now = platform::monotonic_now();
  for (std::size_t i = 0; i < local_faults_.size(); ++i) {
    auto& faults = local_faults_.at(i);
    if (const auto attempts = faults.attempts.take_if_due(now, stopping))
      log_.error("a fault of this host has ended attempts: they count for no receiver, and are made again",
                 {{"fault", name(static_cast<delivery::LocalFault>(i))},
                  {"attempts", *attempts},
                  {"delivery", faults.delivery},
                  {"webhook", faults.webhook}});
  }
}

void ResultBuffer::hold(const delivery::HeldDelivery& held) {
  metrics_.unreadable.add();
  log_.error(
      held.what == delivery::Unreadable::secret
          ? "the secret of a webhook cannot be decrypted: its deliveries are held (check "
            "secrets.key_file)"
          : "the data of a test event cannot be decrypted: its delivery is held (check secrets.key_file)",
      {{"webhook", held.delivery.webhook}, {"delivery", held.delivery.id}});
  enqueue(hold_unreadable(held));
}

/// Adds a result: to the postponed results of its webhook, if any, otherwise to unrecorded_.
void ResultBuffer::enqueue(const delivery::DeliveryResult& delivery_result) {
  const auto found = postponed_.find(delivery_result.webhook);
  if (found == postponed_.end() || found->second.tried) {
    unrecorded_.push_back(delivery_result);
    return;
  }
  found->second.results.push_back(delivery_result);
  ++postponed_results_;
}

std::vector<delivery::DeliveryId> ResultBuffer::unrecorded() const {
  std::vector<delivery::DeliveryId> deliveries;
  deliveries.reserve(unrecorded_.size() + postponed_results_);
  for (const auto& delivery_result : unrecorded_) deliveries.push_back(delivery_result.id);
  for (const auto& [webhook, postponed] : postponed_) {
    for (const auto& delivery_result : postponed.results) deliveries.push_back(delivery_result.id);
  }
  return deliveries;
}

store::FailurePolicy ResultBuffer::policy() const {
  return {settings_.disable_after, settings_.probe_interval};
}

bool ResultBuffer::record(store::Session& session) {
  const auto now = platform::monotonic_now();
  bring_back(now);
  bool got_on = false;
  if (!refused_ || now >= next_try_) got_on = write(session, next_batch());
  return release(session, now) || got_on;
}

/// Releases leases of deliveries that were not started; gives up those that the database refuses to release.
/// True: some leases are released or given up.
bool ResultBuffer::release(store::Session& session, platform::MonotonicTime now) {
  if (unreleased_.empty() || now < next_release_) return false;
  next_release_ = now + refused_for;
  std::vector<delivery::LeasedDelivery> held;
  store::isolate(
      unreleased_,
      [&](const auto& part) {
        std::ranges::copy(store::release_leases(session, part), std::back_inserter(held));
      },
      [&](const auto& delivery, const store::DatabaseError& error) {
        log_.error("a lease cannot be released; its delivery is attempted again after the lease",
                   {{"delivery", delivery.id}, {"error", error.what()}});
      });
  next_release_ = held.empty() ? platform::MonotonicTime{} : now + between_releases;
  std::set<std::pair<delivery::DeliveryId, std::uint64_t>> left;
  for (const auto& delivery : held) left.emplace(delivery.id, delivery.lease);
  for (const auto& delivery : unreleased_) {
    if (!left.contains({delivery.id, delivery.lease}))
      done_.push_back({delivery.webhook, delivery.entity, Milliseconds{}});
  }
  const bool any = held.size() < unreleased_.size();
  unreleased_ = held;
  return any;
}

/// Notes that a result is recorded or given up, and moves the postponed results of its webhook back to
/// unrecorded_.
void ResultBuffer::finish(const delivery::DeliveryResult& delivery_result) {
  refusals_.erase(delivery_result.id);
  // An attempt that is not counted does not change the delivery's due time, which has passed.
  const auto wait = delivery_result.counted ? delivery_result.wait : std::optional(Milliseconds{});
  done_.push_back({delivery_result.webhook, delivery_result.entity, wait});
  const auto found = postponed_.find(delivery_result.webhook);
  if (found == postponed_.end()) return;
  bring_back(found->second);
  postponed_.erase(found);
}

/// Removes the results of `batch` from the front of unrecorded_. A delivery can be there twice, with two
/// leases, if it was sent again while the database was away.
void ResultBuffer::forget(const Batch& batch) {
  std::set<store::ResultKey> decided;
  for (const auto& delivery_result : batch) decided.emplace(delivery_result.id, delivery_result.lease);
  const auto end =
      unrecorded_.begin() + static_cast<std::ptrdiff_t>(std::min(batch_size, unrecorded_.size()));
  const auto is_decided = [&](const auto& kept) { return decided.contains({kept.id, kept.lease}); };
  unrecorded_.erase(std::remove_if(unrecorded_.begin(), end, is_decided), end);
}

/// Returns the oldest results. While all seem to be refused, returns one result, the oldest of a random
/// webhook: perhaps only the results in front are refused.
ResultBuffer::Batch ResultBuffer::next_batch() {
  const auto size = std::min(batch_size, unrecorded_.size());
  const auto end = unrecorded_.begin() + static_cast<std::ptrdiff_t>(size);
  if (!refused_ || size == 0) return {unrecorded_.begin(), end};
  const auto chosen = std::uniform_int_distribution<std::size_t>(0, size - 1)(random_);
  const auto webhook = unrecorded_[chosen].webhook;
  return {*std::find_if(unrecorded_.begin(), end, [&](const auto& one) { return one.webhook == webhook; })};
}

void ResultBuffer::postpone(const delivery::DeliveryResult& delivery_result, Milliseconds wait) {
  const auto [found, is_new] = postponed_.try_emplace(delivery_result.webhook);
  auto& postponed = found->second;
  if (is_new || postponed.tried) {
    postponed.tried = false;
    postponed.wait = wait;
    postponed.until = platform::monotonic_now() + wait;
    brought_back_at_.emplace(postponed.until, delivery_result.webhook);
  }
  postponed.results.push_back(delivery_result);
  ++postponed_results_;
}

void ResultBuffer::postpone_locked(const delivery::DeliveryResult& delivery_result) {
  const auto found = postponed_.find(delivery_result.webhook);
  const auto last = found == postponed_.end() ? Milliseconds{} : found->second.wait;
  if (found != postponed_.end() && !found->second.tried) return postpone(delivery_result, last);
  const auto wait = std::clamp(2 * last, shortest_wait, longest_wait);
  if (wait == longest_wait && last < longest_wait)
    log_.warning("a row is locked by another session; the results of its webhook wait",
                 {{"webhook", delivery_result.webhook}});
  postpone(delivery_result, wait);
}

/// Moves postponed results back to unrecorded_ once their wait has ended: a few at a time, so that other
/// results do not wait for thousands of them.
void ResultBuffer::bring_back(platform::MonotonicTime now) {
  const auto before = postponed_results_;
  while (!brought_back_at_.empty() && brought_back_at_.begin()->first <= now &&
         before - postponed_results_ < tried_at_once) {
    const auto [until, webhook] = *brought_back_at_.begin();
    brought_back_at_.erase(brought_back_at_.begin());
    const auto found = postponed_.find(webhook);
    if (found != postponed_.end() && !found->second.tried && found->second.until == until)
      bring_back(found->second);
  }
}

void ResultBuffer::bring_back(Postponed& postponed) {
  unrecorded_.insert(unrecorded_.end(), postponed.results.begin(), postponed.results.end());
  postponed_results_ -= postponed.results.size();
  postponed.results.clear();
  postponed.tried = true;
}

/// Records a batch. True: some results are recorded or given up.
bool ResultBuffer::write(store::Session& session, const Batch& batch) {
  if (batch.empty()) return false;
  try {
    return settle(batch, store::record_results(session, batch, policy()));
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::Conflict&) {
    throw;
  } catch (const store::DatabaseError& error) {
    log_.error("results cannot be recorded", {{"count", batch.size()}, {"error", error.what()}});
    return write_isolated(session, batch);
  }
}

/// Finishes or postpones the results of a batch. True: some are recorded.
bool ResultBuffer::settle(const Batch& batch, const store::RecordSummary& summary) {
  forget(batch);
  Batch recorded;
  Batch held;
  for (const auto& delivery_result : batch) {
    const store::ResultKey key{delivery_result.id, delivery_result.lease};
    const bool left = summary.locked.contains(key) || summary.waited.contains(key);
    (left ? held : recorded)
        .push_back(summary.former_url.contains(key) ? of_former_url(delivery_result) : delivery_result);
  }
  report(recorded, summary);
  if (!recorded.empty()) {
    ++written_;
    refused_ = false;
  }
  for (const auto& delivery_result : recorded) finish(delivery_result);
  for (const auto& delivery_result : held) {
    if (summary.waited.contains({delivery_result.id, delivery_result.lease}))
      postpone(delivery_result, postpone_time);
    else
      postpone_locked(delivery_result);
  }
  return !recorded.empty();
}

/// Halves a batch that failed until each refused result stands alone, and records the others. Every error but
/// Unavailable and Conflict counts as a refusal. The error does not say whether it concerns one result or
/// all: it concerns one if other results are recorded. Stops when all results seem to be refused. True: some
/// results are recorded or given up.
bool ResultBuffer::write_isolated(store::Session& session, const Batch& batch) {
  bool any = false;
  bool all_refused = false;
  const auto concerns_one = [](const store::DatabaseError& error) {
    return dynamic_cast<const store::Unavailable*>(&error) == nullptr &&
           dynamic_cast<const store::Conflict*>(&error) == nullptr;
  };
  store::isolate(
      batch,
      [&](const Batch& part) {
        if (all_refused) return;
        try {
          any = settle(part, store::record_results(session, part, policy())) || any;
        } catch (const store::Conflict&) {  // the part stays for the next batch
        }
      },
      [&](const delivery::DeliveryResult& delivery_result, const store::DatabaseError&) {
        any = refuse(delivery_result) || any;
        all_refused = refused_;
      },
      concerns_one);
  return any;
}

/// Gives up a refused result if others were recorded since its first refusal: the delivery is attempted again
/// after the lease. Otherwise postpones it. True: given up.
bool ResultBuffer::refuse(const delivery::DeliveryResult& delivery_result) {
  forget({delivery_result});
  const auto written_before = refusals_.try_emplace(delivery_result.id, written_).first->second;
  if (written_ > written_before) {
    log_.error("a refused result is given up; its delivery is attempted again after the lease",
               {{"delivery", delivery_result.id}});
    finish(delivery_result);
    return true;
  }
  postpone(delivery_result, postpone_time);
  const auto since = std::ranges::count(refusals_, written_, &decltype(refusals_)::value_type::second);
  refused_ = static_cast<std::size_t>(since) >= enough_to_tell;
  next_try_ = platform::monotonic_now() + refused_for;
  return false;
}

/// Counts the recorded results in the metrics. If the answer to a COMMIT is lost, the next try finds the
/// results stale and does not count them.
void ResultBuffer::report(const Batch& recorded, const store::RecordSummary& summary) const {
  for (const auto& delivery_result : recorded) {
    const bool stale = summary.stale.contains({delivery_result.id, delivery_result.lease});
    if (!stale && !summary.held_again.contains(delivery_result.id)) metrics_.count_result(delivery_result);
  }
  if (!summary.stale.empty()) {
    log_.warning("results discarded: this dispatcher no longer holds the leases of their deliveries",
                 {{"deliveries", summary.stale.size()}});
  }
  for (const auto webhook : summary.deactivated) {
    log_.warning("webhook deactivated: its receiver answered 410, or failed for delivery.disable_after",
                 {{"webhook", webhook}});
  }
  metrics_.deactivated.add(summary.deactivated.size());
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
                                                            {"outcome", label(outcome_class(attempt))},
                                                            {"error", delivery_result.error}};
  if (!delivery_result.counted) {
    log_.debug("attempt not counted: an outage of our own", fields);
  } else if (delivery_result.state == delivery::DeliveryState::delivered) {
    log_.debug("delivered", fields);
  } else if (delivery_result.state == delivery::DeliveryState::failed) {
    log_.warning("delivery failed: no retries left", fields);
  } else {
    log_.info("attempt failed", fields);
  }
}

}  // namespace dispatcher
