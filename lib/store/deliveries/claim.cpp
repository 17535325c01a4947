#include "lib/store/deliveries/claim.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "lib/store/deliveries/lease_candidates.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/session/union_all.hpp"
#include "lib/store/webhooks/target.hpp"

namespace store {

namespace {

/// The number of webhooks in one statement.
constexpr std::size_t webhooks_per_statement = 16;

/// This and other statements of every round have FORCE INDEX, because a server that believes that a table is
/// empty would read the whole table. After a restart a server believes this of its tables if
/// innodb_stats_auto_recalc is off.
constexpr std::string_view and_state_of_receiving = R"sql(,
    COALESCE(x.sondeo, FALSE) AS sondeo,
    GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), x.descansa_hasta), 0)) DIV 1000
      AS descansa_ms,
    COALESCE(x.ultimo_error <> '', FALSE) AS falla
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = j.id
  STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = w.id
  WHERE w.activo AND w.plaza IS NOT NULL AND t.activa)sql";
constexpr std::string_view receiving_webhooks = joined<select_target, and_state_of_receiving>;

/// The due deliveries of a webhook, oldest first, read without a lock. lease_candidates() then locks those
/// that are still pending, and skips those that another session has locked.
constexpr std::string_view due_deliveries = R"sql(
  SELECT id, webhook_id, CAST(proximo_intento AS CHAR) AS vence
  FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento BETWEEN ? AND UTC_TIMESTAMP(3)
    AND (proximo_intento > ? OR id > ?)
  ORDER BY proximo_intento, id LIMIT ?)sql";

struct DueDelivery {
  DeliveryId id;
  WebhookId webhook;
  UtcTime due;
};

std::vector<DueDelivery> find_due(Session& session, const std::vector<ClaimRequest>& requests) {
  std::vector<Seek> seeks;
  seeks.reserve(requests.size());
  for (const auto& request : requests) {
    // 0 also finds a date of 0000-00-00.
    const auto due = request.after.due == UtcTime{} ? Parameter(0) : Parameter(request.after.due);
    seeks.push_back(
        {Parameter(request.webhook), due, due, Parameter(request.after.id), Parameter(request.limit)});
  }
  const Parameter never(UtcTime{});
  const Seek none{Parameter(-1), never, never, Parameter(0), Parameter(0)};
  std::vector<DueDelivery> result;
  for (const auto& row : query_seeks(session, due_deliveries, seeks, none, webhooks_per_statement))
    result.push_back({row.integer("id"), row.integer("webhook_id"), row.time("vence")});
  return result;
}

std::vector<Claim::Reach> reach_of(const std::vector<ClaimRequest>& requests,
                                   const std::vector<DueDelivery>& candidates) {
  std::map<WebhookId, Claim::Reach> reached;
  for (const auto& candidate : candidates) {
    auto& reach = reached[candidate.webhook];
    ++reach.found;
    reach.last = std::max(reach.last, DuePosition{candidate.due, candidate.id});
  }
  std::vector<Claim::Reach> result;
  result.reserve(requests.size());
  for (const auto& request : requests) {
    result.push_back(reached[request.webhook]);
    result.back().webhook = request.webhook;
  }
  return result;
}

/// `put_off`: deliveries left pending, because the claim had reached bytes_per_claim. For each of their
/// webhooks, moves Reach::last back to just before the first such delivery, so that the next claim begins
/// with that delivery.
void reach_back(const std::vector<ClaimRequest>& requests, const std::vector<DueDelivery>& candidates,
                const std::set<DeliveryId>& put_off, std::vector<Claim::Reach>& reached) {
  std::map<WebhookId, DuePosition> before;
  std::set<WebhookId> stopped;
  for (const auto& candidate : candidates) {
    if (put_off.contains(candidate.id)) stopped.insert(candidate.webhook);
    if (!stopped.contains(candidate.webhook)) before[candidate.webhook] = {candidate.due, candidate.id};
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!stopped.contains(requests[i].webhook)) continue;
    const auto last = before.find(requests[i].webhook);
    reached[i].last = last == before.end() ? requests[i].after : last->second;
    reached[i].found = requests[i].limit;
  }
}

}  // namespace

std::vector<ReceivingWebhook> load_receiving(Session& session, const std::vector<WebhookId>& webhooks) {
  std::vector<ReceivingWebhook> result;
  for (const auto& row : session.query(receiving_webhooks, json_ids(webhooks))) {
    result.push_back({read_target(row), row.integer("entidad_id"), row.boolean("sondeo"),
                      platform::Milliseconds(row.integer("descansa_ms")), row.boolean("falla")});
  }
  std::ranges::sort(result, {}, [](const auto& webhook) { return webhook.target.webhook; });
  return result;
}

Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease) {
  const auto due = find_due(session, requests);
  Claim result;
  result.reached = reach_of(requests, due);
  if (due.empty()) return result;
  std::vector<LeaseCandidate> candidates;
  candidates.reserve(due.size());
  for (const auto& delivery : due) candidates.push_back({delivery.id, delivery.webhook});
  auto leased = lease_candidates(session, candidates, lease);
  for (auto& reach : result.reached) {
    reach.skipped = leased.skipped.contains(reach.webhook);
    reach.unreadable = leased.unreadable[reach.webhook];
  }
  reach_back(requests, due, leased.put_off, result.reached);
  result.leased = std::move(leased.leased);
  return result;
}

}  // namespace store
