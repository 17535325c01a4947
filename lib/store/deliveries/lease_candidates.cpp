#include "lib/store/deliveries/lease_candidates.hpp"

#include <algorithm>
#include <string_view>

#include "lib/delivery/states.hpp"
#include "lib/store/cancelled.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/event.hpp"

namespace store {

namespace {

/// Locks the webhooks and their entities for share, so that no delivery is claimed once a DELETE request or a
/// disabling command has been answered. MariaDB and MySQL have different syntax for this
/// lock, and each takes the other's syntax for a comment.
constexpr std::string_view from_webhooks_by_id =
    " FROM webhooks w FORCE INDEX (PRIMARY)"
    " STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id"
    " WHERE w.id IN";
constexpr std::string_view lock_receiving_webhooks = joined<select_target, from_webhooks_by_id>;
constexpr std::string_view where_receiving =
    "AND w.activo AND w.plaza IS NOT NULL AND t.activa"
    " /*M! LOCK IN SHARE MODE *//*!80001 FOR SHARE */ SKIP LOCKED";

constexpr std::string_view lock_deliveries =
    "SELECT id, webhook_id, notificacion_id FROM entregas FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view where_pending = "AND estado = 'pendiente' FOR UPDATE SKIP LOCKED";

/// Read without a lock, so that another user's lock delays no claim: on MariaDB every user with SELECT on
/// this table can lock its rows. `notification cancel` and a claim cannot change the same delivery at the
/// same time, because both lock the delivery's row in `entregas`. A withdrawal (notificaciones_anuladas)
/// locks no delivery: a claim that read before its commit goes on, and the next claim sees it.
constexpr std::string_view notifications_by_id =
    "SELECT id, entidad_id, estado, evento, CAST(ocurrida_en AS CHAR) AS ocurrida, LENGTH(datos) AS octetos,"
    " origen = 'prueba' AS prueba, COALESCE(caduca_en <= UTC_TIMESTAMP(3), FALSE) AS caducada"
    " FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN";

constexpr std::string_view pending_by_id = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id SET )sql";
constexpr std::string_view if_pending = " WHERE e.estado = 'pendiente'";
constexpr std::string_view of_another_entity = "'La notificación es de otra entidad'";

constexpr std::string_view lease_deliveries = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = 'en_curso', e.tipo = IF(e.prevista > UTC_TIMESTAMP(3), e.tipo, 'programado'), e.arriendo = ?,
    e.arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
  WHERE e.estado = 'pendiente')sql";

constexpr std::string_view leased_deliveries = R"sql(
  SELECT e.id, e.webhook_id, e.notificacion_id, n.entidad_id, n.evento,
    CAST(e.proximo_intento AS CHAR) AS vence,
    CAST(n.ocurrida_en AS CHAR) AS ocurrida, CAST(e.creada_en AS CHAR) AS creada,
    n.datos, e.intentos, e.paso, e.tipo, n.origen = 'prueba' AS prueba, e.reenviada
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  WHERE e.arriendo = ?)sql";

struct Receiving {
  Target target;
  EntityId entity;
};

/// Locks those of the candidates' webhooks that may receive; skips locked rows.
std::map<WebhookId, Receiving> lock_receiving(Session& session,
                                              const std::vector<LeaseCandidate>& candidates) {
  std::set<WebhookId> asked;  // sorted: sessions that lock in the same order do not deadlock
  for (const auto& candidate : candidates) asked.insert(candidate.webhook);
  std::map<WebhookId, Receiving> result;
  for (const auto& row :
       query_ids(session, lock_receiving_webhooks, {asked.begin(), asked.end()}, where_receiving))
    result.emplace(row.integer("webhook_id"), Receiving{read_target(row), row.integer("entidad_id")});
  return result;
}

/// A delivery with its row locked by this session.
struct LockedDelivery {
  DeliveryId id;
  WebhookId webhook;
  NotificationId notification;
};

/// Locks the candidates that belong to webhooks in `receiving`, and returns them in the order of
/// `candidates`. Skips candidates that another session has locked and candidates that are not pending.
std::vector<LockedDelivery> lock_candidates(Session& session, const std::vector<LeaseCandidate>& candidates,
                                            const std::map<WebhookId, Receiving>& receiving) {
  std::vector<DeliveryId> ids;
  for (const auto& candidate : candidates) {
    if (receiving.contains(candidate.webhook)) ids.push_back(candidate.id);
  }
  std::map<DeliveryId, LockedDelivery> locked;
  for (const auto& row : query_ids(session, lock_deliveries, ids, where_pending)) {
    const auto id = row.integer("id");
    locked.emplace(id, LockedDelivery{id, row.integer("webhook_id"), row.integer("notificacion_id")});
  }
  std::vector<LockedDelivery> result;
  result.reserve(locked.size());
  for (const auto id : ids) {
    if (auto one = locked.extract(id)) result.push_back(one.mapped());
  }
  return result;
}

enum class Fate { lease, cancel, expire, unreadable };

struct Judged {
  EntityId entity;
  Fate fate;
  std::uint64_t bytes;  // size of the notification's data
};

/// Decides, for each notification, what happens to its deliveries.
std::map<NotificationId, Judged> read_fates(Session& session, const std::vector<LockedDelivery>& locked) {
  std::vector<NotificationId> ids;
  ids.reserve(locked.size());
  for (const auto& delivery : locked) ids.push_back(delivery.notification);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::map<NotificationId, Judged> fates;
  for (const auto& row : query_ids(session, notifications_by_id, ids, "")) {
    const bool cancelled = row.text("estado") == name(delivery::NotificationState::cancelled);
    const auto bytes = static_cast<std::uint64_t>(row.integer("octetos"));
    // An older release may have fanned out data that is too long. The limit does not apply to test events,
    // because sealing lengthens their data.
    const bool fetchable = bytes <= longest_data || row.boolean("prueba");
    const bool readable =
        fetchable && row.optional_time("ocurrida") && webhook::find_event(row.text("evento"));
    const auto fate = cancelled                 ? Fate::cancel
                      : row.boolean("caducada") ? Fate::expire
                      : readable                ? Fate::lease
                                                : Fate::unreadable;
    fates[row.integer("id")] = {row.integer("entidad_id"), fate, bytes};
  }
  return fates;
}

/// The locked deliveries, by what happens to them.
struct Sorted {
  std::vector<DeliveryId> to_lease;
  std::vector<DeliveryId> to_cancel;
  std::vector<DeliveryId> expired;
};

Sorted sort_locked(Session& session, const std::vector<LockedDelivery>& locked,
                   const std::map<WebhookId, Receiving>& receiving, LeasedCandidates& result) {
  Sorted sorted;
  std::set<WebhookId> full;  // webhooks with a put-off delivery: their later deliveries must wait, too
  std::uint64_t bytes = 0;
  const auto fates = read_fates(session, locked);
  for (const auto& delivery : locked) {
    const auto found = fates.find(delivery.notification);
    if (found == fates.end()) continue;
    const auto& [entity, fate, size] = found->second;
    if (entity != receiving.at(delivery.webhook).entity) {
      result.leased.foreign.push_back(delivery.id);
      continue;
    }
    if (fate == Fate::cancel) sorted.to_cancel.push_back(delivery.id);
    if (fate == Fate::expire) sorted.expired.push_back(delivery.id);
    if (fate == Fate::unreadable) ++result.unreadable[delivery.webhook];
    if (fate != Fate::lease) continue;
    if (full.contains(delivery.webhook) || (bytes > 0 && bytes + size > bytes_per_claim)) {
      full.insert(delivery.webhook);
      result.put_off.insert(delivery.id);
    } else {
      bytes += size;
      sorted.to_lease.push_back(delivery.id);
    }
  }
  return sorted;
}

void change_locked(Session& session, const Sorted& sorted, const std::vector<DeliveryId>& foreign,
                   const Lease& lease) {
  std::uint64_t changed = 0;
  const auto cancel = [&](const std::vector<DeliveryId>& ids, std::string_view error) {
    if (ids.empty()) return;
    const auto statement = std::string(pending_by_id).append(ends_cancelled(error)).append(if_pending);
    changed += session.update(statement, json_ids(ids));
  };
  cancel(foreign, of_another_entity);
  cancel(sorted.to_cancel, called_off);
  cancel(sorted.expired, expired);
  if (!sorted.to_lease.empty())
    changed += session.update(lease_deliveries, json_ids(sorted.to_lease), lease.token,
                              microseconds(lease.duration));
  if (changed != sorted.to_lease.size() + sorted.to_cancel.size() + sorted.expired.size() + foreign.size())
    throw Conflict(0, "a delivery was claimed by another dispatcher");
}

std::vector<LeasedDelivery> read_leased(Session& session, const std::vector<DeliveryId>& ids,
                                        const Lease& lease) {
  if (ids.empty()) return {};
  // Sorted here, because MariaDB sorts even a few rows of JSON_TABLE in files.
  std::map<std::pair<UtcTime, DeliveryId>, LeasedDelivery> by_due;
  for (const auto& row : session.query(leased_deliveries, json_ids(ids), lease.token)) {
    by_due.emplace(std::pair(row.time("vence"), row.integer("id")),
                   LeasedDelivery{.id = row.integer("id"),
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
                                  .test = row.boolean("prueba"),
                                  .kind = delivery::attempt_kind(row.text("tipo")),
                                  .replay = row.boolean("reenviada")});
  }
  std::vector<LeasedDelivery> result;
  result.reserve(by_due.size());
  for (auto& [due, delivery] : by_due) result.push_back(std::move(delivery));
  return result;
}

/// Leases the candidates; the caller begins and commits the transaction. Reads the targets under the locks,
/// so that the targets are still valid at the commit.
LeasedCandidates lease_locked(Session& session, const std::vector<LeaseCandidate>& candidates,
                              const Lease& lease) {
  LeasedCandidates result;
  auto receiving = lock_receiving(session, candidates);
  for (const auto& candidate : candidates) {
    if (!receiving.contains(candidate.webhook)) result.skipped.insert(candidate.webhook);
  }
  const auto locked = lock_candidates(session, candidates, receiving);
  const auto sorted = sort_locked(session, locked, receiving, result);
  change_locked(session, sorted, result.leased.foreign, lease);
  result.leased.expired = sorted.expired.size();
  result.leased.deliveries = read_leased(session, sorted.to_lease, lease);
  for (const auto& delivery : result.leased.deliveries) {
    const auto& target = receiving.at(delivery.webhook).target;
    result.leased.targets.emplace(delivery.webhook, target);
  }
  return result;
}

}  // namespace

LeasedCandidates lease_candidates(Session& session, const std::vector<LeaseCandidate>& candidates,
                                  const Lease& lease) {
  if (candidates.empty()) return {};
  auto result = transaction(session, [&] { return lease_locked(session, candidates, lease); });
  result.leased.at = platform::monotonic_now();
  return result;
}

}  // namespace store
