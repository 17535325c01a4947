#include "store/deliveries/claim.hpp"

#include <algorithm>
#include <map>

#include "store/session/json_rows.hpp"
#include "store/session/rows_by_key.hpp"
#include "store/session/union_all.hpp"

namespace store {

namespace json = webhook::json;

namespace {

/// Webhooks sought by one statement.
constexpr std::size_t webhooks_per_statement = 16;

/// What each webhook has due, oldest first, without a lock: who gets it is decided by the guarded update.
struct Candidate {
  DeliveryId id;
  WebhookId webhook;
  UtcTime due;
};

std::vector<Candidate> find_candidates(Session& session, const std::vector<ClaimRequest>& requests) {
  constexpr std::string_view sql =
      "SELECT id, webhook_id, " STORE_EPOCH_MS(
          "proximo_intento") " FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente'"
                             " AND webhook_id = ? AND proximo_intento BETWEEN ? AND UTC_TIMESTAMP(3)"
                             " ORDER BY proximo_intento, id LIMIT ?";
  std::vector<Seek> seeks;
  seeks.reserve(requests.size());
  for (const auto& request : requests)
    seeks.push_back({Parameter(request.webhook), Parameter(request.from), Parameter(request.limit)});
  const Seek none{Parameter(-1), Parameter(UtcTime{}), Parameter(0)};
  std::vector<Candidate> result;
  for (const auto& row : query_seeks(session, sql, seeks, none, webhooks_per_statement))
    result.push_back({row.integer(0), row.integer(1), row.time(2)});
  return result;
}

std::vector<Claim::Reach> reach_of(const std::vector<ClaimRequest>& requests,
                                   const std::vector<Candidate>& candidates) {
  std::map<WebhookId, Claim::Reach> reached;
  for (const auto& candidate : candidates) {
    auto& reach = reached[candidate.webhook];
    ++reach.found;
    reach.last = std::max(reach.last, candidate.due);
  }
  std::vector<Claim::Reach> result;
  result.reserve(requests.size());
  for (const auto& request : requests) {
    result.push_back(reached[request.webhook]);
    result.back().webhook = request.webhook;
  }
  return result;
}

/// Of the webhooks asked for, those that may receive, locked for share: once a DELETE has answered, nothing
/// more is claimed.
std::vector<WebhookId> lock_receiving(Session& session, const std::vector<ClaimRequest>& requests) {
  std::vector<WebhookId> asked;
  asked.reserve(requests.size());
  for (const auto& request : requests) asked.push_back(request.webhook);
  std::ranges::sort(asked);  // everybody locks in the same order
  std::vector<WebhookId> result;
  for (const auto& row : query_ids(session, "SELECT id FROM webhooks WHERE id IN", asked,
                                   "AND activo AND plaza IS NOT NULL LOCK IN SHARE MODE")) {
    result.push_back(row.integer(0));
  }
  std::ranges::sort(result);
  return result;
}

/// The candidates that this session now holds; others are being claimed elsewhere.
json::Array lock_candidates(Session& session, const std::vector<DeliveryId>& candidates) {
  json::Array held;
  for (const auto& row : query_ids(session, "SELECT id FROM entregas WHERE id IN", candidates,
                                   "AND estado = 'pendiente' FOR UPDATE SKIP LOCKED")) {
    held.emplace_back(row.integer(0));
  }
  return held;
}

/// Leases what is held and cancels what belongs to a cancelled notification; the ids leased, as JSON.
std::string lease_held(Session& session, const json::Array& held, const Lease& lease) {
  std::string ids = json::dump(held);
  const auto cancelled =
      session.update("UPDATE " STORE_JSON_IDS
                     " j STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id STRAIGHT_JOIN "
                     "notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id"
                     " SET e.estado = 'cancelada', e.terminada_en = UTC_TIMESTAMP(3) "
                     "WHERE n.estado = 'cancelada' AND e.estado = 'pendiente'",
                     ids);
  const auto leased = session.update(
      "UPDATE " STORE_JSON_IDS
      " j STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id SET e.estado = 'en_curso', "
      "e.arriendo = ?,"
      " e.arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND WHERE e.estado = 'pendiente'",
      ids, lease.token, std::int64_t{lease.duration.count()} * 1000);
  if (leased + cancelled != held.size()) throw Conflict(0, "a delivery was claimed by another dispatcher");
  return ids;
}

std::vector<LeasedDelivery> read_leased(Session& session, const std::string& ids, const Lease& lease) {
  std::vector<LeasedDelivery> result;
  for (const auto& row :
       session.query("SELECT e.id, e.webhook_id, e.notificacion_id, n.entidad_id, "
                     "n.evento, " STORE_EPOCH_MS("n.ocurrida_en") ", " STORE_EPOCH_MS(
                         "e.creada_en") ", n.datos, e.intentos, e.paso, n.origen = 'prueba'"
                                        " FROM " STORE_JSON_IDS
                                        " j STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id"
                                        " JOIN notificaciones_pendientes n ON n.id = e.notificacion_id"
                                        " WHERE e.arriendo = ? ORDER BY e.proximo_intento, e.id",
                     ids, lease.token)) {
    LeasedDelivery delivery;
    delivery.id = row.integer(0);
    delivery.webhook = row.integer(1);
    delivery.notification = row.integer(2);
    delivery.entity = row.integer(3);
    delivery.lease = lease.token;
    delivery.event = webhook::find_event(row.text(4)).value();
    delivery.occurred = row.time(5);
    delivery.created = row.time(6);
    delivery.data = row.text(7);
    delivery.attempts = static_cast<unsigned>(row.integer(8));
    delivery.failures = static_cast<unsigned>(row.integer(9));
    delivery.test = row.boolean(10);
    result.push_back(std::move(delivery));
  }
  return result;
}

}  // namespace

std::vector<ReceivingWebhook> load_receiving(Session& session, const std::vector<WebhookId>& webhooks) {
  std::vector<ReceivingWebhook> result;
  for (const auto& row :
       session.query("SELECT " STORE_TARGET_COLUMNS ", COALESCE(x.sondeo, FALSE),"
                     " GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), x.descansa_hasta), "
                     "0)) DIV 1000"
                     " FROM " STORE_JSON_IDS
                     " j STRAIGHT_JOIN webhooks w ON w.id = j.id JOIN entidades t ON t.id = w.entidad_id"
                     " LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id"
                     " WHERE w.activo AND w.plaza IS NOT NULL AND t.activa ORDER BY w.id",
                     json::dump(json::Array(webhooks.begin(), webhooks.end())))) {
    result.push_back({read_target(row, 0), row.boolean(target_columns),
                      platform::Milliseconds(row.integer(target_columns + 1))});
  }
  return result;
}

Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease) {
  const auto candidates = find_candidates(session, requests);
  Claim result{{}, reach_of(requests, candidates)};
  if (candidates.empty()) return result;
  const std::string leased = transaction(session, [&]() -> std::string {
    const auto receiving = lock_receiving(session, requests);
    std::vector<DeliveryId> ids;
    for (const auto& candidate : candidates) {
      if (std::ranges::binary_search(receiving, candidate.webhook)) ids.push_back(candidate.id);
    }
    if (ids.empty()) return "[]";
    const auto held = lock_candidates(session, ids);
    return held.empty() ? "[]" : lease_held(session, held, lease);
  });
  result.deliveries = read_leased(session, leased, lease);
  return result;
}

}  // namespace store
