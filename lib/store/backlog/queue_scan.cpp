#include "lib/store/backlog/queue_scan.hpp"

#include <map>
#include <utility>

#include "lib/store/session/union_all.hpp"

namespace store {

namespace {

constexpr std::string_view queue_at_a_glance = R"sql(
  SELECT EXISTS (SELECT 1 FROM notificaciones_pendientes WHERE estado = 'pendiente') AS notificaciones,
    EXISTS (SELECT 1 FROM entregas WHERE espera = 'pendiente') AS entregas,
    EXISTS (SELECT 1 FROM diagnosticos FORCE INDEX (diagnosticos_por_hacer) WHERE estado = 'pendiente') AS diagnosticos,
    (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes) AS ultima_notificacion)sql";

constexpr std::string_view notifications_after = R"sql(
  SELECT id, entidad_id, estado = 'pendiente' AS pendiente
  FROM notificaciones_pendientes FORCE INDEX (PRIMARY)
  WHERE id > ? ORDER BY id LIMIT ?)sql";

// The next two statements do not use BETWEEN: if both bounds are the same id, MariaDB turns BETWEEN into an
// equality, and then sorts that id's whole backlog.

constexpr std::string_view first_of_waiting_entities = R"sql(
  SELECT entidad_id, id
  FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
  WHERE estado = 'pendiente' AND entidad_id >= ? AND entidad_id <= ?
  ORDER BY entidad_id, id LIMIT 16)sql";
static_assert(rows_per_range == 16);

constexpr std::string_view first_waiting_webhook = R"sql(
  SELECT webhook_id, CAST(proximo_intento AS CHAR) AS vence,
    TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), proximo_intento) DIV 1000 AS falta_ms
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
  const auto rows = session.query(queue_at_a_glance);
  const auto& row = rows.at(0);
  return {row.boolean("notificaciones"), row.boolean("entregas"), row.boolean("diagnosticos"),
          row.integer("ultima_notificacion")};
}

NewNotifications find_new_notifications(Session& session, NotificationId after, unsigned limit) {
  const auto rows = session.query(notifications_after, after, limit);
  NewNotifications result{{}, rows.empty() ? after : rows.back().integer("id"), rows.size() == limit};
  for (const auto& row : rows) {
    if (row.boolean("pendiente")) result.pending.push_back({row.integer("id"), row.integer("entidad_id")});
  }
  return result;
}

WaitingEntities find_waiting_entities(Session& session, const std::vector<IdRange>& ranges) {
  static const std::string sql = union_all(first_of_waiting_entities, ranges_per_search);
  std::map<EntityId, WaitingEntity> found;
  for (const auto& row : session.run_query(sql, bounds_of(ranges))) {
    const auto id = row.integer("entidad_id");
    found.try_emplace(id, WaitingEntity{id, {}, false}).first->second.oldest.push_back(row.integer("id"));
  }
  WaitingEntities result;
  for (const auto& range : ranges) {
    std::size_t rows = 0;
    const auto end = found.upper_bound(range.last);
    auto last = end;
    for (auto i = found.lower_bound(range.first); i != end; last = i++) rows += i->second.oldest.size();
    if (rows < rows_per_range) continue;
    last->second.more = true;
    if (last->first < range.last) result.rest.push_back({last->first.number() + 1, range.last});
  }
  for (auto& [id, entity] : found) result.found.push_back(std::move(entity));
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
