#include "lib/store/deliveries/results.hpp"

#include <algorithm>
#include <iterator>

#include "lib/store/deliveries/executions.hpp"
#include "lib/store/deliveries/former_urls.hpp"
#include "lib/store/deliveries/result_locks.hpp"
#include "lib/store/deliveries/result_rows.hpp"
#include "lib/store/replays/open_deliveries.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/webhooks/deactivation.hpp"

namespace store {

namespace {

// A lock time-out after a longer time than this means that the database waited for the lock: MySQL waits for
// at least 1 s, MariaDB not at all.
constexpr platform::Milliseconds long_wait{500};

using Batch = ResultBatch;

/// Notes the results of replayed deliveries that have ended; most batches have none.
void note_ended_replays(Session& session, const Batch& batch) {
  std::vector<ReplayOutcome> outcomes;
  for (const auto* result : batch) {
    if (result->replay && (is_delivered(*result) || result->state == DeliveryState::failed))
      outcomes.push_back({result->id, is_delivered(*result)});
  }
  note_outcomes(session, outcomes);
}

/// Writes what the batch says about its webhooks. Returns those that it deactivated.
std::vector<WebhookId> record_webhooks(Session& session, const Batch& batch, const FailurePolicy& policy) {
  const auto results = delivery::results_by_webhook(batch);
  record_executions(session, results, policy.probe_interval);
  record_certificates(session, batch);
  std::vector<WebhookId> failed;
  for (const auto& [webhook, of_webhook] : results) {
    if (of_webhook.failures > 0) failed.push_back(webhook);
  }
  std::vector<GoneWebhook> gone;
  for (const auto* result : batch) {
    if (result->gone)
      gone.push_back({result->webhook, result->url.empty() ? std::nullopt : std::optional(result->url)});
  }
  return deactivate(session, gone, failed, policy.disable_after);
}

/// Some results of a batch had lost their lease, so the transaction must be rolled back.
struct NotAllOwned {};

/// Writes the results and returns their summary. Throws NotAllOwned.
RecordSummary write(Session& session, const Batch& results, const FailurePolicy& policy) {
  const auto judged = judge_urls(session, results);
  const auto& batch = judged.batch;
  Batch by_id = batch;
  std::ranges::sort(by_id, {}, &DeliveryResult::id);  // every session locks in the same order
  RecordSummary summary{.held_again = find_held_again(session, by_id)};
  if (update_deliveries(session, by_id) != batch.size()) throw NotAllOwned();
  insert_attempts(session, by_id);
  note_ended_replays(session, by_id);
  summary.deactivated = record_webhooks(session, batch, policy);
  for (const auto& result : judged.former) summary.former_url.emplace(result.id, result.lease);
  return summary;
}

void add_keys(std::set<ResultKey>& keys, const Batch& batch) {
  for (const auto* delivery_result : batch) keys.emplace(delivery_result->id, delivery_result->lease);
}

/// Records, in one transaction, the results without locked rows. Returns the results that it leaves out
/// because their webhook's row in webhook_ejecuciones is locked or absent. `absent`: no webhook of the batch
/// has such a row, and no result is left out for that reason.
Batch record_unlocked(Session& session, const Batch& batch, bool absent, const FailurePolicy& policy,
                      RecordSummary& summary) {
  LockedResults locked;
  auto written = transaction(session, [&]() -> RecordSummary {
    locked = lock_results(session, batch, absent);
    if (locked.owned.empty()) return {};
    try {
      return write(session, locked.owned, policy);
    } catch (const NotAllOwned&) {
      // A lock covers only one node of a cluster: another node has changed the lease of a delivery that is
      // locked here.
      throw Conflict(0, "the lease of a delivery changed while its result was being recorded");
    }
  });
  add_keys(summary.stale, locked.stale);
  add_keys(summary.locked, locked.locked);
  summary.held_again.merge(written.held_again);
  summary.former_url.merge(written.former_url);
  summary.deactivated.insert(summary.deactivated.end(), written.deactivated.begin(),
                             written.deactivated.end());
  return locked.unwritten;
}

/// Calls record_unlocked with the batch. If a result meets another session's lock that SKIP LOCKED does not
/// skip (of a gap, or of a row being inserted), halves the batch until that result stands alone, and adds it
/// to summary.locked or summary.waited. MariaDB reports such a lock at once; MySQL waits for it.
Batch record_isolated(Session& session, const Batch& batch, bool absent, const FailurePolicy& policy,
                      RecordSummary& summary) {
  Batch unwritten;
  platform::MonotonicTime start;
  isolate(
      batch,
      [&](const Batch& part) {
        start = platform::monotonic_now();
        std::ranges::copy(record_unlocked(session, part, absent, policy, summary),
                          std::back_inserter(unwritten));
      },
      [&](const DeliveryResult* result, const DatabaseError&) {
        const bool waited = platform::monotonic_now() - start >= long_wait;
        add_keys(waited ? summary.waited : summary.locked, {result});
      },
      is_lock_timeout);
  return unwritten;
}

/// Records the whole batch without locking first. Nearly always no row is locked and every lease is valid. In
/// that case the updates suffice, because they require the lease; without the locks recording takes an eighth
/// less time. nullopt: nothing was recorded.
std::optional<RecordSummary> record_all(Session& session, const Batch& batch, const FailurePolicy& policy) {
  if (!session.is_mariadb()) return std::nullopt;  // MySQL would wait for locked rows
  try {
    return transaction(session, [&] { return write(session, batch, policy); });
  } catch (const LockTimeout&) {
    return std::nullopt;
  } catch (const NotAllOwned&) {
    return std::nullopt;
  }
}

}  // namespace

RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             const FailurePolicy& policy) {
  if (delivery_results.empty()) return {};
  Batch batch;
  batch.reserve(delivery_results.size());
  for (const auto& delivery_result : delivery_results) batch.push_back(&delivery_result);
  if (auto done = record_all(session, batch, policy)) return *std::move(done);
  RecordSummary summary;
  const auto unwritten = record_isolated(session, batch, false, policy, summary);
  const auto first = without_execution(session, unwritten);
  add_keys(summary.locked, unwritten);
  for (const auto* delivery_result : first)
    summary.locked.erase({delivery_result->id, delivery_result->lease});
  if (!first.empty()) record_isolated(session, first, true, policy, summary);
  return summary;
}

}  // namespace store
