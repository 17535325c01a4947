#include "store/deliveries/claim.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "delivery/states.hpp"
#include "store/notifications/fan_out.hpp"
#include "store/session/json_rows.hpp"
#include "store/session/rows_by_key.hpp"
#include "store/session/union_all.hpp"
#include "webhook/event.hpp"

namespace store {

namespace {

/// Webhooks sought by one statement.
constexpr std::size_t webhooks_per_statement = 16;

constexpr std::string_view receiving_webhooks = R"sql(
  SELECT w.id AS webhook_id, w.entidad_id, w.url, w.secreto_clave, HEX(w.secreto_sellado) AS secreto_sellado,
    COALESCE(x.sondeo, FALSE) AS sondeo,
    GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), x.descansa_hasta), 0)) DIV 1000
      AS descansa_ms
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN webhooks w ON w.id = j.id
  JOIN entidades t ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.activo AND w.plaza IS NOT NULL AND t.activa
  ORDER BY w.id)sql";

/// What a webhook has due, oldest first, without a lock: who gets it is decided by the guarded update.
constexpr std::string_view due_deliveries = R"sql(
  SELECT id, webhook_id, CAST(proximo_intento AS CHAR) AS vence
  FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento BETWEEN ? AND UTC_TIMESTAMP(3)
    AND (proximo_intento > ? OR id > ?)
  ORDER BY proximo_intento, id LIMIT ?)sql";

/// Locked for share: once a DELETE has answered, nothing more is claimed. Each server has its own words for
/// it, and takes those of the other for a comment.
constexpr std::string_view lock_receiving_webhooks =
    "SELECT id FROM webhooks FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view where_receiving =
    "AND activo AND plaza IS NOT NULL /*M! LOCK IN SHARE MODE *//*!80001 FOR SHARE */ SKIP LOCKED";

constexpr std::string_view lock_deliveries =
    "SELECT id, webhook_id, notificacion_id FROM entregas FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view where_pending = "AND estado = 'pendiente' FOR UPDATE SKIP LOCKED";

/// For share: what a cancellation that is not committed yet holds is left to it.
constexpr std::string_view lock_notifications =
    "SELECT id, estado, evento, CAST(ocurrida_en AS CHAR) AS ocurrida, LENGTH(datos) AS octetos,"
    " origen = 'prueba' AS prueba"
    " FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view for_share = "/*M! LOCK IN SHARE MODE *//*!80001 FOR SHARE */ SKIP LOCKED";

constexpr std::string_view cancel_deliveries = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = 'cancelada', e.terminada_en = UTC_TIMESTAMP(3)
  WHERE e.estado = 'pendiente')sql";

constexpr std::string_view lease_deliveries = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = 'en_curso', e.tipo = 'programado', e.arriendo = ?, e.arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
  WHERE e.estado = 'pendiente')sql";

constexpr std::string_view leased_deliveries = R"sql(
  SELECT e.id, e.webhook_id, e.notificacion_id, n.entidad_id, n.evento,
    CAST(n.ocurrida_en AS CHAR) AS ocurrida, CAST(e.creada_en AS CHAR) AS creada,
    n.datos, e.intentos, e.paso, n.origen = 'prueba' AS prueba
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.arriendo = ?
  ORDER BY e.proximo_intento, e.id)sql";

struct Candidate {
  DeliveryId id;
  WebhookId webhook;
  UtcTime due;
};

std::vector<Candidate> find_candidates(Session& session, const std::vector<ClaimRequest>& requests) {
  std::vector<Seek> seeks;
  seeks.reserve(requests.size());
  for (const auto& request : requests) {
    const Parameter due(request.after.due);
    seeks.push_back(
        {Parameter(request.webhook), due, due, Parameter(request.after.id), Parameter(request.limit)});
  }
  const Parameter never(UtcTime{});
  const Seek none{Parameter(-1), never, never, Parameter(0), Parameter(0)};
  std::vector<Candidate> result;
  for (const auto& row : query_seeks(session, due_deliveries, seeks, none, webhooks_per_statement))
    result.push_back({row.integer("id"), row.integer("webhook_id"), row.time("vence")});
  return result;
}

std::vector<Claim::Reach> reach_of(const std::vector<ClaimRequest>& requests,
                                   const std::vector<Candidate>& candidates) {
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

/// Marks in `reached` those that may not receive, or whose row somebody holds.
void lock_receiving(Session& session, std::vector<Claim::Reach>& reached) {
  std::vector<WebhookId> asked;
  asked.reserve(reached.size());
  for (const auto& reach : reached) asked.push_back(reach.webhook);
  std::ranges::sort(asked);  // everybody locks in the same order
  std::vector<WebhookId> locked;
  for (const auto& row : query_ids(session, lock_receiving_webhooks, asked, where_receiving))
    locked.push_back(row.integer("id"));
  std::ranges::sort(locked);
  for (auto& reach : reached) reach.skipped = !std::ranges::binary_search(locked, reach.webhook);
}

/// A delivery whose row this session now holds.
struct Held {
  DeliveryId id;
  WebhookId webhook;
  NotificationId notification;
};

/// Of the candidates, in their order; others are being claimed elsewhere.
std::vector<Held> lock_candidates(Session& session, const std::vector<Candidate>& candidates,
                                  const std::vector<Claim::Reach>& reached) {
  std::map<WebhookId, bool> skipped;
  for (const auto& reach : reached) skipped[reach.webhook] = reach.skipped;
  std::vector<DeliveryId> ids;
  for (const auto& candidate : candidates) {
    if (!skipped.at(candidate.webhook)) ids.push_back(candidate.id);
  }
  std::map<DeliveryId, Held> locked;
  for (const auto& row : query_ids(session, lock_deliveries, ids, where_pending)) {
    const auto id = row.integer("id");
    locked.emplace(id, Held{id, row.integer("webhook_id"), row.integer("notificacion_id")});
  }
  std::vector<Held> held;
  held.reserve(locked.size());
  for (const auto id : ids) {
    if (auto one = locked.extract(id)) held.push_back(one.mapped());
  }
  return held;
}

enum class Fate { lease, cancel, unreadable };

struct Judged {
  Fate fate;
  std::uint64_t bytes;  // of the notification's data
};

/// What becomes of the deliveries of each notification; of one that somebody holds nothing yet.
std::map<NotificationId, Judged> read_fates(Session& session, const std::vector<Held>& held) {
  std::vector<NotificationId> ids;
  ids.reserve(held.size());
  for (const auto& delivery : held) ids.push_back(delivery.notification);
  std::ranges::sort(ids);  // everybody locks in the same order
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::map<NotificationId, Judged> fates;
  for (const auto& row : query_ids(session, lock_notifications, ids, for_share)) {
    const bool cancelled = row.text("estado") == name(delivery::NotificationState::cancelled);
    const auto bytes = static_cast<std::uint64_t>(row.integer("octetos"));
    // A test event's data are ours, sealed. Others that are too long were fanned out by an older version.
    const bool fetchable = bytes <= longest_data || row.boolean("prueba");
    const bool readable =
        fetchable && row.optional_time("ocurrida") && webhook::find_event(row.text("evento"));
    const auto fate = cancelled ? Fate::cancel : readable ? Fate::lease : Fate::unreadable;
    fates[row.integer("id")] = {fate, bytes};
  }
  return fates;
}

/// Of those held, by what becomes of them.
struct Sorted {
  std::vector<DeliveryId> to_lease;
  std::vector<DeliveryId> to_cancel;
  std::set<DeliveryId> put_off;  // the batch is large enough without them
};

Sorted sort_held(Session& session, const std::vector<Held>& held, std::vector<Claim::Reach>& reached) {
  Sorted result;
  std::map<WebhookId, unsigned> unreadable;
  std::set<WebhookId> full;  // of which one was put off: none overtakes it
  std::uint64_t bytes = 0;
  const auto fates = read_fates(session, held);
  for (const auto& delivery : held) {
    const auto found = fates.find(delivery.notification);
    if (found == fates.end()) continue;
    const auto& [fate, size] = found->second;
    if (fate == Fate::cancel) result.to_cancel.push_back(delivery.id);
    if (fate == Fate::unreadable) ++unreadable[delivery.webhook];
    if (fate != Fate::lease) continue;
    if (full.contains(delivery.webhook) || (bytes > 0 && bytes + size > bytes_per_claim)) {
      full.insert(delivery.webhook);
      result.put_off.insert(delivery.id);
    } else {
      bytes += size;
      result.to_lease.push_back(delivery.id);
    }
  }
  for (auto& reach : reached) reach.unreadable = unreadable[reach.webhook];
  return result;
}

/// Each webhook is looked at again from its first delivery that was put off.
void reach_back(const std::vector<ClaimRequest>& requests, const std::vector<Candidate>& candidates,
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

void lease_held(Session& session, const Sorted& held, const Lease& lease) {
  std::uint64_t changed = 0;
  if (!held.to_cancel.empty()) changed += session.update(cancel_deliveries, json_ids(held.to_cancel));
  if (!held.to_lease.empty())
    changed += session.update(lease_deliveries, json_ids(held.to_lease), lease.token,
                              std::int64_t{lease.duration.count()} * 1000);
  if (changed != held.to_lease.size() + held.to_cancel.size())
    throw Conflict(0, "a delivery was claimed by another dispatcher");
}

std::vector<LeasedDelivery> read_leased(Session& session, const std::vector<DeliveryId>& ids,
                                        const Lease& lease) {
  std::vector<LeasedDelivery> result;
  if (ids.empty()) return result;
  for (const auto& row : session.query(leased_deliveries, json_ids(ids), lease.token)) {
    result.push_back({.id = row.integer("id"),
                      .webhook = row.integer("webhook_id"),
                      .notification = row.integer("notificacion_id"),
                      .entity = row.integer("entidad_id"),
                      .lease = lease.token,
                      .event = webhook::find_event(row.text("evento")).value(),
                      .occurred = row.time("ocurrida"),
                      .created = row.time("creada"),
                      .data = row.text("datos"),
                      .attempts = static_cast<unsigned>(row.integer("intentos")),
                      .failures = static_cast<unsigned>(row.integer("paso")),
                      .test = row.boolean("prueba")});
  }
  return result;
}

}  // namespace

std::vector<ReceivingWebhook> load_receiving(Session& session, const std::vector<WebhookId>& webhooks) {
  std::vector<ReceivingWebhook> result;
  for (const auto& row : session.query(receiving_webhooks, json_ids(webhooks))) {
    result.push_back({read_target(row), row.integer("entidad_id"), row.boolean("sondeo"),
                      platform::Milliseconds(row.integer("descansa_ms"))});
  }
  return result;
}

Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease) {
  const auto candidates = find_candidates(session, requests);
  Claim result;
  result.reached = reach_of(requests, candidates);
  if (candidates.empty()) return result;
  const auto leased = transaction(session, [&] {
    lock_receiving(session, result.reached);
    const auto held = lock_candidates(session, candidates, result.reached);
    const auto sorted = sort_held(session, held, result.reached);
    lease_held(session, sorted, lease);
    return sorted;
  });
  reach_back(requests, candidates, leased.put_off, result.reached);
  result.deliveries = read_leased(session, leased.to_lease, lease);
  return result;
}

}  // namespace store
