#include "lib/store/deliveries/result_locks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/webhooks/deactivation.hpp"

namespace store {

namespace {

constexpr std::string_view executions_by_id =
    "SELECT webhook_id AS id FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id IN";
constexpr std::string_view if_free = "FOR UPDATE SKIP LOCKED";

constexpr std::string_view leases_by_id =
    "SELECT id, arriendo FROM entregas FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view if_leased_and_free = "AND estado = 'en_curso' FOR UPDATE SKIP LOCKED";
constexpr std::string_view if_leased = "AND estado = 'en_curso'";

using Leases = std::map<DeliveryId, std::uint64_t>;

/// Sorted and without duplicates: sessions that lock in the same order do not deadlock.
template <class Id>
std::vector<Id> ids_of(const ResultBatch& batch, Id delivery::DeliveryResult::*id) {
  std::vector<Id> ids;
  ids.reserve(batch.size());
  for (const auto* result : batch) ids.push_back(result->*id);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::set<WebhookId> read_ids(Session& session, std::string_view sql, const std::vector<WebhookId>& ids,
                             std::string_view after) {
  return ids_in<WebhookId, std::set>(query_ids(session, sql, ids, after));
}

Leases read_leases(Session& session, const std::vector<DeliveryId>& ids, std::string_view after) {
  Leases leases;
  for (const auto& row : query_ids(session, leases_by_id, ids, after))
    leases.emplace(row.integer("id"), row.unsigned_integer("arriendo"));
  return leases;
}

bool has_lease(const Leases& leases, const delivery::DeliveryResult& result) {
  const auto found = leases.find(result.id);
  return found != leases.end() && found->second == result.lease;
}

void lock_deliveries(Session& session, const ResultBatch& batch, LockedResults& result) {
  const auto ids = ids_of(batch, &delivery::DeliveryResult::id);
  if (ids.empty()) return;
  const auto locked = read_leases(session, ids, if_leased_and_free);
  const auto committed = locked.size() < ids.size() ? read_leases(session, ids, if_leased) : locked;
  for (const auto* one : batch) {
    const bool elsewhere = !locked.contains(one->id) && has_lease(committed, *one);
    (has_lease(locked, *one) ? result.owned : elsewhere ? result.locked : result.stale).push_back(one);
  }
}

/// Locks the webhooks that are to be deactivated because a result in `batch` is a 410. If another session has
/// locked such a webhook, adds its results with a 410 to result.locked. Returns all other results.
ResultBatch lock_gone(Session& session, const ResultBatch& batch, LockedResults& result) {
  ResultBatch gone;
  std::ranges::copy_if(batch, std::back_inserter(gone), &delivery::DeliveryResult::gone);
  if (gone.empty()) return batch;
  const auto locked = lock_webhooks(session, ids_of(gone, &delivery::DeliveryResult::webhook));
  ResultBatch rest;
  for (const auto* one : batch) {
    const bool elsewhere = one->gone && std::ranges::find(locked, one->webhook) == locked.end();
    (elsewhere ? result.locked : rest).push_back(one);
  }
  return rest;
}

}  // namespace

LockedResults lock_results(Session& session, const ResultBatch& batch, bool absent) {
  LockedResults result;
  const auto webhooks = ids_of(batch, &delivery::DeliveryResult::webhook);
  const auto executions = read_ids(session, executions_by_id, webhooks, if_free);
  ResultBatch writable = batch;
  if (!absent && executions.size() < webhooks.size()) {
    const auto has_row = [&](const auto* one) { return executions.contains(one->webhook); };
    writable.clear();
    for (const auto* one : batch) (has_row(one) ? writable : result.unwritten).push_back(one);
  }
  lock_deliveries(session, lock_gone(session, writable, result), result);
  return result;
}

ResultBatch without_execution(Session& session, const ResultBatch& batch) {
  if (batch.empty()) return {};  // without a SELECT, the isolation level would apply to a later statement
  // Outside of a transaction a query may first check whether the server is writable. Between the next two
  // statements that check would use up the isolation level, so the session is marked as in a transaction.
  const detail::OpenTransaction together(session);
  session.execute("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");  // applies to the next statement only
  const auto executions =
      read_ids(session, executions_by_id, ids_of(batch, &delivery::DeliveryResult::webhook), "");
  ResultBatch result;
  std::ranges::copy_if(batch, std::back_inserter(result),
                       [&](const auto* one) { return !executions.contains(one->webhook); });
  return result;
}

}  // namespace store
