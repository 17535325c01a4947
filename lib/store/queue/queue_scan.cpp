#include "store/queue/queue_scan.hpp"

#include "store/session/union_all.hpp"

namespace store {

namespace {

std::vector<Parameter> bounds_of(const std::vector<IdRange>& ranges) {
  std::vector<Parameter> result;
  for (std::size_t i = 0; i < ranges_per_search; ++i) {
    const IdRange range = i < ranges.size() ? ranges[i] : IdRange{1, 0};  // nothing is in it
    result.emplace_back(range.first);
    result.emplace_back(range.last);
  }
  return result;
}

}  // namespace

// Not BETWEEN: for a range of one id MariaDB makes an equality of it, and sorts that one's whole backlog.

QueuePeek peek_queue(Session& session) {
  const auto rows = session.query(
      "SELECT EXISTS (SELECT 1 FROM notificaciones_pendientes WHERE estado = 'pendiente'),"
      " EXISTS (SELECT 1 FROM entregas WHERE espera = 'pendiente'),"
      " (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes)");
  const auto& row = rows.at(0);
  return {row.boolean(0), row.boolean(1), row.integer(2)};
}

NewNotifications find_new_notifications(Session& session, NotificationId after, unsigned limit) {
  const auto rows = session.query(
      "SELECT id, entidad_id, estado = 'pendiente' FROM notificaciones_pendientes FORCE INDEX (PRIMARY)"
      " WHERE id > ? ORDER BY id LIMIT ?",
      after, limit);
  NewNotifications result{{}, rows.empty() ? after : rows.back().integer(0), rows.size() == limit};
  for (const auto& row : rows) {
    if (row.boolean(2)) result.entities.insert(row.integer(1));
  }
  return result;
}

std::vector<WaitingEntity> find_waiting_entities(Session& session, const std::vector<IdRange>& ranges) {
  static const std::string sql = union_all(
      "SELECT entidad_id, id FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)"
      " WHERE estado = 'pendiente' AND entidad_id >= ? AND entidad_id <= ? ORDER BY entidad_id, id LIMIT 1",
      ranges_per_search);
  std::vector<WaitingEntity> result;
  for (const auto& row : session.run_query(sql, bounds_of(ranges)))
    result.push_back({row.integer(0), row.integer(1)});
  return result;
}

std::vector<WaitingWebhook> find_waiting_webhooks(Session& session, const std::vector<IdRange>& ranges) {
  static const std::string sql = union_all(
      "SELECT webhook_id, " STORE_EPOCH_MS("proximo_intento") ", TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), "
      "proximo_intento) DIV 1000 FROM entregas FORCE INDEX (entregas_por_reclamar)"
      " WHERE espera = 'pendiente' AND webhook_id >= ? AND webhook_id <= ? ORDER BY webhook_id, proximo_intento LIMIT 1",
      ranges_per_search);
  std::vector<WaitingWebhook> result;
  for (const auto& row : session.run_query(sql, bounds_of(ranges)))
    result.push_back({row.integer(0), row.time(1), platform::Milliseconds(row.integer(2))});
  return result;
}

}  // namespace store
