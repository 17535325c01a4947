#include "lib/store/backlog/queue_scan.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/keys.hpp"
#include "lib/store/session/uncommitted.hpp"
#include "lib/store/session/union_all.hpp"

namespace store {

namespace {

constexpr std::string_view queue_at_a_glance = R"sql(
  SELECT EXISTS (SELECT 1 FROM notificaciones_pendientes WHERE estado = 'pendiente' AND aplazada_hasta IS NULL) AS notificaciones,
    EXISTS (SELECT 1 FROM entregas WHERE espera = 'pendiente') AS entregas,
    EXISTS (SELECT 1 FROM diagnosticos FORCE INDEX (diagnosticos_por_hacer) WHERE estado = 'pendiente') AS diagnosticos,
    EXISTS (SELECT 1 FROM control_envio WHERE id = 1 AND pausada)
      OR EXISTS (SELECT 1 FROM pausas_envio WHERE hasta IS NULL OR hasta > UTC_TIMESTAMP(3)) AS pausas,
    (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes) AS ultima_notificacion)sql";

constexpr std::string_view notifications_after = R"sql(
  SELECT n.id, n.entidad_id, n.estado = 'pendiente' AND n.aplazada_hasta IS NULL AS pendiente,
    n.estado = 'pendiente' AND n.aplazada_hasta IS NULL AND NOT EXISTS (SELECT 1 FROM entidades t WHERE t.id = n.entidad_id AND t.activa) AS sin_entidad
  FROM notificaciones_pendientes n FORCE INDEX (PRIMARY)
  WHERE n.id > ? AND n.id <= ? ORDER BY n.id LIMIT ?)sql";
constexpr std::string_view end_of_ids = R"sql(
  SELECT MAX(id) AS id FROM (
    SELECT id FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT ?) t)sql";

// The next two statements do not use BETWEEN: if both bounds are the same id, MariaDB turns BETWEEN into an
// equality, and then sorts that id's whole backlog.

constexpr std::string_view first_of_waiting_entities = R"sql(
  SELECT n.entidad_id, n.id,
    NOT EXISTS (SELECT 1 FROM entidades t WHERE t.id = n.entidad_id AND t.activa) AS sin_entidad
  FROM notificaciones_pendientes n FORCE INDEX (notificaciones_por_expandir)
  WHERE n.estado = 'pendiente' AND n.aplazada_hasta IS NULL AND n.entidad_id >= ? AND n.entidad_id <= ?
  ORDER BY n.entidad_id, n.id LIMIT 16)sql";
static_assert(rows_per_range == 16);

constexpr std::string_view first_waiting_webhook = R"sql(
  SELECT webhook_id, CAST(proximo_intento AS CHAR) AS vence,
    COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), proximo_intento) DIV 1000, 0) AS falta_ms
  FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id >= ? AND webhook_id <= ?
  ORDER BY webhook_id, proximo_intento LIMIT 1)sql";

std::vector<Parameter> bounds_of(const std::vector<IdRange>& ranges) {
  std::vector<Parameter> result;
  for (std::size_t i = 0; i < ranges_per_search; ++i) {
    const IdRange range = i < ranges.size() ? ranges[i] : IdRange{1, 0};  // an empty range
    result.emplace_back(range.first);
    result.emplace_back(range.last);
  }
  return result;
}

}  // namespace

QueuePeek peek_queue(Session& session) {
  const auto rows = read_uncommitted(session, [&] { return session.query(queue_at_a_glance); });
  const auto& row = rows.at(0);
  return {row.boolean("notificaciones"), row.boolean("entregas"), row.boolean("diagnosticos"),
          row.boolean("pausas"), row.integer("ultima_notificacion")};
}

namespace {

/// The id up to which to read; nullopt: the rest is short.
std::optional<NotificationId> end_of_window(Session& session, NotificationId after, NotificationId newest) {
  if (newest.number() - after.number() <= 2 * std::int64_t{most_ids_at_once}) return std::nullopt;
  const auto rows =
      read_uncommitted(session, [&] { return session.query(end_of_ids, after, most_ids_at_once); });
  const auto end = rows.at(0).optional_integer("id").value_or(newest.number());
  return end < newest.number() ? std::optional<NotificationId>(end) : std::nullopt;
}

Rows first_rows(Session& session, const std::vector<IdRange>& ranges) {
  static const std::string sql = union_all(first_of_waiting_entities, ranges_per_search);
  return read_uncommitted(session, [&] { return session.run_query(sql, bounds_of(ranges)); });
}

}  // namespace

NewNotifications find_new_notifications(Session& session, NotificationId after, NotificationId newest,
                                        unsigned limit) {
  const auto end = end_of_window(session, after, newest);
  constexpr auto no_end = std::numeric_limits<std::int64_t>::max();
  const auto rows = session.query(notifications_after, after, end.value_or(no_end), limit);
  NewNotifications result{
      {}, {}, rows.empty() ? after : rows.back().integer("id"), rows.size() == limit, false};
  if (end && !result.full) {
    result.last = *end;
    result.passed_over = true;
  }
  for (const auto& row : rows) {
    if (row.boolean("pendiente")) result.pending.push_back({row.integer("id"), row.integer("entidad_id")});
    if (row.boolean("sin_entidad")) result.unreachable.insert(row.integer("entidad_id"));
  }
  return result;
}

WaitingEntities find_waiting_entities(Session& session, const std::vector<IdRange>& ranges) {
  struct Found {
    WaitingEntity entity;
    std::size_t rows = 0;  // committed or not
  };
  const auto rows = first_rows(session, ranges);
  const auto committed = find_pending(session, ids_in<NotificationId>(rows));
  std::map<EntityId, Found> found;
  for (const auto& row : rows) {
    const EntityId id = row.integer("entidad_id");
    auto& [entity, count] = found.try_emplace(id, Found{{id, {}, false}}).first->second;
    ++count;
    entity.unreachable = row.boolean("sin_entidad");
    if (committed.contains(row.integer("id"))) entity.oldest.push_back(row.integer("id"));
  }
  WaitingEntities result;
  for (const auto& range : ranges) {
    std::size_t read = 0;
    const auto end = found.upper_bound(range.last);
    auto last = end;
    for (auto i = found.lower_bound(range.first); i != end; last = i++) read += i->second.rows;
    if (read < rows_per_range) continue;
    last->second.entity.more = true;
    if (last->first < range.last) result.rest.push_back({last->first.number() + 1, range.last});
  }
  for (auto& [id, one] : found) {
    if (!one.entity.oldest.empty()) result.found.push_back(std::move(one.entity));
  }
  return result;
}

std::vector<WaitingWebhook> find_waiting_webhooks(Session& session, const std::vector<IdRange>& ranges) {
  static const std::string sql = union_all(first_waiting_webhook, ranges_per_search);
  std::vector<WaitingWebhook> result;
  for (const auto& row : session.run_query(sql, bounds_of(ranges)))
    result.push_back(
        {row.integer("webhook_id"), row.time("vence"), platform::Milliseconds(row.integer("falta_ms"))});
  return result;
}

}  // namespace store
