#include "lib/store/notifications/fan_out.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "lib/json/json.hpp"
#include "lib/store/schema/version.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/session/union_all.hpp"
#include "lib/store/webhooks/slots.hpp"
#include "lib/store/webhooks/target.hpp"

namespace store {

namespace {

/// The number of entities in one statement.
constexpr std::size_t entities_per_statement = 32;

/// Reads without a lock; lock_pending() locks by key afterwards. A locking read would not stop at the end of
/// an entity's rows: it goes on to the next live index entry and locks every dead entry before that, which
/// takes seconds when a backup's snapshot keeps many. Reads only columns of the index: reading the rows too,
/// one seek at a time, would cost twice as much. It finds uncommitted notifications, too, which
/// lock_pending() leaves out.
constexpr std::string_view oldest_pending =
    "SELECT id, entidad_id FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)"
    " WHERE estado = 'pendiente' AND aplazada_hasta IS NULL AND entidad_id = ? AND id > ? ORDER BY id LIMIT "
    "?";

constexpr std::string_view pending_by_id =
    "SELECT id FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view data_of_notifications =
    "SELECT id, datos FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN";

/// Small data comes with the row, which saves a statement for most rows. A `no_antes_de` that is no date,
/// which only an UPDATE can have written, becomes NULL (MariaDB) or a date (MySQL) with an INTERVAL.
constexpr std::string_view columns_of_notifications = R"sql(
  SELECT n.id, n.entidad_id, n.evento, CAST(n.ocurrida_en AS CHAR) AS ocurrida, LENGTH(n.datos) AS octetos,
    IF(LENGTH(n.datos) <= 1024, n.datos, NULL) AS datos,
    COALESCE(CHAR_LENGTH(n.clave) BETWEEN 1 AND 64, TRUE) AS clave_valida,
    n.clave IS NOT NULL AS con_clave, n.urgente, COALESCE(n.caduca_en <= UTC_TIMESTAMP(3), FALSE) AS caducada,
    COALESCE(n.no_antes_de + INTERVAL 0 DAY > UTC_TIMESTAMP(3), FALSE) AS prematura)sql";
constexpr std::string_view by_id =
    " FROM notificaciones_pendientes n FORCE INDEX (PRIMARY)"
    " WHERE n.estado = 'pendiente' AND n.id IN";
constexpr std::string_view if_free = "FOR UPDATE SKIP LOCKED";
constexpr std::string_view lock_notifications = joined<columns_of_notifications, by_id>;
/// A locking read of the whole table by another session may lock only the entries of the index
/// notificaciones_por_expandir. The rows themselves then seem free, but a change of a row's `estado` or
/// `aplazada_hasta` moves the row's entry, and would wait a second for that lock. So this statement locks the
/// entries. On MariaDB `process_notifications` does not wait for such a lock but fails at once, so there this
/// statement, which costs more, is for the repetition.
constexpr std::string_view through_index =
    " FROM notificaciones_pendientes p FORCE INDEX (PRIMARY)"
    " STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (notificaciones_por_expandir)"
    " ON n.estado = 'pendiente' AND n.aplazada_hasta <=> p.aplazada_hasta AND n.entidad_id = p.entidad_id "
    "AND n.id = p.id "
    "WHERE p.id IN";
constexpr std::string_view if_entry_is_free = "FOR UPDATE /*!80001 OF n */ SKIP LOCKED";
constexpr std::string_view lock_through_index = joined<columns_of_notifications, through_index>;

/// The webhooks that are not deleted: a range of `plaza` for each entity. Takes no lock, because the
/// recording of results writes the rows of webhook_ejecuciones. Reads only the first delivery in the index's
/// order: for an EXISTS of a due delivery, MariaDB would also read all deliveries not yet due. ORDER BY also
/// names the webhook: in a subquery MySQL does not treat the webhook as a constant, and would otherwise sort
/// the whole backlog.
constexpr std::string_view webhooks_with_state = R"sql(
  SELECT id, entidad_id, COALESCE(x.sondeo, FALSE) AS sondeo,
    COALESCE(x.descansa_hasta > UTC_TIMESTAMP(3), FALSE) AS descansa,
    COALESCE((SELECT d.proximo_intento FROM entregas d FORCE INDEX (entregas_por_reclamar)
              WHERE d.espera = 'pendiente' AND d.webhook_id = webhooks.id
              ORDER BY d.webhook_id, d.proximo_intento LIMIT 1) <= UTC_TIMESTAMP(3), FALSE) AS atrasada
  FROM webhooks FORCE INDEX (webhooks_cinco_por_entidad)
  LEFT JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = webhooks.id
  WHERE entidad_id IN)sql";
constexpr std::string_view and_slot = "AND plaza";
constexpr auto not_deleted = joined<and_slot, slot_in_range>;

/// Locks by primary key, as the API's DELETE does: through the index on the entity, this statement and a
/// DELETE would lock in opposite orders. Leaves out a webhook if its row or that of its entity is locked.
/// Each server treats the other's syntax for this lock as a comment.
constexpr std::string_view and_whether_active = R"sql(, w.eventos, w.activo, t.activa
  FROM webhooks w FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id WHERE w.id IN)sql";
constexpr std::string_view lock_webhooks = joined<select_target, and_whether_active>;
constexpr std::string_view for_share =
    "AND w.plaza IS NOT NULL /*M! LOCK IN SHARE MODE *//*!80001 FOR SHARE */ SKIP LOCKED";

constexpr std::string_view entities_by_id =
    "SELECT id, activa FROM entidades FORCE INDEX (PRIMARY) WHERE id IN";

/// Updates one table, because a join with JSON_TABLE would write its rows to a temporary table first.
/// `relleno` is padding: a new row has it, so that the row does not grow when `terminada_en` is set and
/// `relleno` is cleared (migration 0028).
constexpr std::string_view process_notifications = R"sql(
  UPDATE notificaciones_pendientes FORCE INDEX (PRIMARY)
  SET estado = 'procesada', terminada_en = UTC_TIMESTAMP(3), relleno = NULL WHERE id IN)sql";
/// An `error` frees the `clave`: once a webhook is subscribed, the job that runs again reaches it.
constexpr std::string_view process_unreached = R"sql(
  UPDATE notificaciones_pendientes FORCE INDEX (PRIMARY)
  SET estado = 'procesada', error = 'La entidad no tenía ningún webhook suscrito', terminada_en = UTC_TIMESTAMP(3),
    relleno = NULL
  WHERE id IN)sql";
constexpr std::string_view defer_notifications = R"sql(
  UPDATE notificaciones_pendientes FORCE INDEX (PRIMARY) SET aplazada_hasta = no_antes_de + INTERVAL 0 DAY, relleno = NULL WHERE id IN)sql";
constexpr std::string_view if_pending = "AND estado = 'pendiente'";

constexpr std::string_view create_deliveries = R"sql(
  INSERT INTO entregas (notificacion_id, webhook_id, evento, prueba, estado, proximo_intento, creada_en, arriendo,
    arriendo_hasta) VALUES)sql";
constexpr std::string_view new_delivery =
    "(?, ?, ?, FALSE, ?, UTC_TIMESTAMP(3) - INTERVAL ? SECOND, UTC_TIMESTAMP(3), ?,"
    " UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND)";

/// Reads the leased ones of the deliveries that this session has just inserted. The reading begins at the
/// first inserted row, by default that of the last INSERT. The LIMIT is the number of the leased ones, so the
/// reading ends at the last of them. Rows that other sessions inserted may lie in between; they have another
/// `arriendo`.
constexpr std::string_view created_leased = R"sql(
  SELECT id, notificacion_id, webhook_id, CAST(creada_en AS CHAR) AS creada
  FROM entregas FORCE INDEX (PRIMARY) WHERE id >= COALESCE(?, LAST_INSERT_ID()) AND arriendo = ? ORDER BY id LIMIT ?)sql";

PendingNotification read_notification(const Row& row) {
  return {.id = row.integer("id"),
          .entity = row.integer("entidad_id"),
          .event = webhook::find_event(row.text("evento")),
          .occurred = row.optional_time("ocurrida"),
          .bytes = static_cast<std::uint64_t>(row.integer("octetos")),
          .data = row.optional_text("datos"),
          .valid_key = row.boolean("clave_valida"),
          .expired = row.boolean("caducada"),
          .has_key = row.boolean("con_clave"),
          .urgent = row.boolean("urgente"),
          .later = row.boolean("prematura")};
}

/// Changes locked, pending notifications with `update`.
void change_pending(Session& session, std::string_view update, const std::vector<NotificationId>& ids) {
  if (ids.empty()) return;
  if (update_ids(session, update, ids, if_pending) != ids.size())
    throw Conflict(0, "a notification was taken by another dispatcher");
}

void mark_processed(Session& session, const std::vector<NotificationId>& processed) {
  change_pending(session, without_waiting<process_notifications>, processed);
}

std::vector<Parameter> parameters_of(const std::vector<NewDelivery>& deliveries, const Lease& lease) {
  std::vector<Parameter> values;
  for (const auto& delivery : deliveries) {
    const bool leased = delivery.state == delivery::DeliveryState::leased;
    append_row(values, delivery.notification, delivery.webhook, webhook::name(delivery.event),
               name(delivery.state), std::int64_t{delivery.urgent ? urgent_head_start.count() : 0},
               leased ? Parameter(lease.token) : nullptr,
               leased ? Parameter(microseconds(lease.duration)) : nullptr);
  }
  return values;
}

/// Inserts the deliveries in the given order, that of their notifications. So their ids ascend in this order,
/// and claims, which prefer the lower of two ids that are due at the same time, follow it. Returns the
/// deliveries that are leased.
std::vector<CreatedDelivery> insert_deliveries(Session& session, const std::vector<NewDelivery>& deliveries,
                                               const Lease& lease) {
  const auto leased = std::ranges::count(deliveries, delivery::DeliveryState::leased, &NewDelivery::state);
  std::optional<std::int64_t> first;
  const auto values = parameters_of(deliveries, lease);
  const auto chunks = chunks_of_rows(new_delivery, values);
  for (const auto rows : chunks) {
    insert_rows(session, without_waiting<create_deliveries>, new_delivery, rows);
    if (leased > 0 && chunks.size() > 1 && !first) first = session.last_insert_id();
  }
  std::vector<CreatedDelivery> result;
  if (leased == 0) return result;
  for (const auto& row : session.query(created_leased, first, lease.token, std::int64_t{leased})) {
    result.push_back(
        {row.integer("id"), row.integer("notificacion_id"), row.integer("webhook_id"), row.time("creada")});
  }
  return result;
}

/// Locks `found`, the rows of webhooks_with_state, and the rows of their entities. An entity is marked as
/// locked if another session has locked one of these rows.
void lock_webhooks_of(Session& session, const Rows& found, std::map<EntityId, Recipient>& recipients) {
  std::map<WebhookId, const Row*> states;
  for (const auto& row : found) states.emplace(row.integer("id"), &row);
  for (const auto& row : query_ids(session, lock_webhooks, ids_in(found), for_share)) {
    const auto& state = *states.extract(row.integer("webhook_id")).mapped();
    auto& recipient = recipients[row.integer("entidad_id")];
    recipient.active = row.boolean("activa");
    recipient.webhooks.push_back({.target = read_target(row),
                                  .events = webhook::EventSet::from_joined(row.text("eventos")),
                                  .active = row.boolean("activo"),
                                  .one_at_a_time = state.boolean("sondeo"),
                                  .resting = state.boolean("descansa"),
                                  .backlog = state.boolean("atrasada")});
  }
  for (const auto& [id, state] : states) recipients[state->integer("entidad_id")].locked = true;
}

}  // namespace

std::vector<NotificationKey> find_oldest_pending(Session& session, const std::vector<TakeRequest>& requests) {
  std::vector<Seek> seeks;
  seeks.reserve(requests.size());
  for (const auto& request : requests)
    seeks.push_back({Parameter(request.entity), Parameter(request.after), Parameter(request.limit)});
  const Seek none{Parameter(0), Parameter(0), Parameter(0)};
  std::vector<NotificationKey> result;
  for (const auto& row :
       query_seeks(session, oldest_pending, seeks, none, entities_per_statement, Reads::uncommitted))
    result.push_back({row.integer("id"), row.integer("entidad_id")});
  return result;
}

std::set<NotificationId> find_pending(Session& session, const std::vector<NotificationId>& ids) {
  return ids_in<NotificationId, std::set>(query_ids(session, pending_by_id, ids, if_pending));
}

std::vector<PendingNotification> lock_pending(Session& session, const std::vector<NotificationId>& ids,
                                              LockedBy by) {
  const bool by_row = by == LockedBy::row && session.is_mariadb();
  const auto rows = by_row ? query_ids(session, lock_notifications, ids, if_free)
                           : query_ids(session, lock_through_index, ids, if_entry_is_free);
  std::map<NotificationId, PendingNotification> found;
  for (const auto& row : rows) {
    auto notification = read_notification(row);
    found.emplace(notification.id, std::move(notification));
  }
  std::vector<PendingNotification> result;
  result.reserve(found.size());
  for (const auto id : ids) {
    if (auto one = found.extract(id)) result.push_back(std::move(one.mapped()));
  }
  return result;
}

void read_data(Session& session, std::vector<PendingNotification>& notifications) {
  std::map<NotificationId, PendingNotification*> missing;
  for (auto& notification : notifications) {
    if (!notification.data && notification.bytes <= longest_data)
      missing.emplace(notification.id, &notification);
  }
  std::vector<NotificationId> ids;
  ids.reserve(missing.size());
  for (const auto& [id, notification] : missing) ids.push_back(id);
  for (const auto& row : query_ids(session, data_of_notifications, ids, ""))
    missing.at(row.integer("id"))->data = row.text("datos");
}

std::vector<PendingNotification> leave_to_newer(Session& session,
                                                std::vector<PendingNotification>& notifications) {
  const auto unknown = [](const PendingNotification& notification) { return !notification.event; };
  if (std::ranges::none_of(notifications, unknown) || !schema_is_newer(session)) return {};
  const auto first = std::stable_partition(notifications.begin(), notifications.end(), std::not_fn(unknown));
  std::vector<PendingNotification> left(std::make_move_iterator(first),
                                        std::make_move_iterator(notifications.end()));
  notifications.erase(first, notifications.end());
  return left;
}

std::map<EntityId, Recipient> load_recipients(Session& session, const std::vector<EntityId>& entities) {
  std::map<EntityId, Recipient> result;
  lock_webhooks_of(session, query_ids(session, webhooks_with_state, entities, not_deleted), result);
  std::vector<EntityId> others;
  std::ranges::copy_if(entities, std::back_inserter(others), [&](auto id) { return !result.contains(id); });
  for (const auto& row : query_ids(session, entities_by_id, others, ""))
    result[row.integer("id")].active = row.boolean("activa");
  return result;
}

std::vector<CreatedDelivery> write_fan_out(Session& session, const FanOutRows& fan_out, const Lease& lease) {
  try {
    mark_processed(session, fan_out.processed);
    change_pending(session, without_waiting<process_unreached>, fan_out.unreached);
    change_pending(session, without_waiting<defer_notifications>, fan_out.deferred);
  } catch (const LockTimeout& error) {
    throw NotificationLocked(error.code, error.what());
  }
  return insert_deliveries(session, fan_out.deliveries, lease);
}

bool finish_fan_out(Session& session, NotificationId id) {
  return transaction(session, [&] {
    if (lock_pending(session, {id}).empty()) return false;
    mark_processed(session, {id});
    return true;
  });
}

}  // namespace store
