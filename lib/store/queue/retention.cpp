#include "store/queue/retention.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/session/json_rows.hpp"
#include "store/session/rows_by_key.hpp"
#include "store/types.hpp"

namespace store {

namespace json = webhook::json;

namespace {

using platform::Milliseconds;
using platform::RetentionSettings;
using Ids = std::vector<std::int64_t>;

// Milliseconds since then; NULL when it has not happened.
#define AGE_MS(column) "TIMESTAMPDIFF(MICROSECOND, " column ", UTC_TIMESTAMP(3)) DIV 1000"

/// A table's rows as the walks see them. Columns: id, whether it is of the kind that `other` is for, the age
/// of its end, the age of its beginning (or what is nearest to it).
struct Table {
  std::string_view rows_after;  // those after an id, by id, at most so many
  Milliseconds usual;           // retention
  Milliseconds other;           // of the failed, the rejected
  std::uint64_t (*remove)(Session&, const RetentionSettings&, const Ids&);

  bool expired(const Row& row) const {
    const auto age = row.optional_integer(2);
    return age && *age > (row.boolean(1) ? other : usual).count();
  }
};

/// A beginning further ahead than this is that of a clock that was wrong: it must not stop a walk for ever.
constexpr Milliseconds wrong_clock = std::chrono::days(1);

/// Neither it nor what follows can be expired.
bool young(const Row& row, Milliseconds limit) {
  const auto age = row.optional_integer(3);
  return age && *age <= limit.count() && *age > -wrong_clock.count();
}

/// Moves the walk past the rows that it is done with; true when what follows is too young, or nothing.
bool advance(const Rows& rows, const Table& table, PurgeWalk& walk, unsigned window) {
  auto& after = walk.after.at(walk.table);
  if (walk.sweep) {
    if (!rows.empty()) after = rows.back().integer(0);
    const auto limit = std::min(table.usual, table.other);
    return rows.size() < window ||
           std::ranges::all_of(rows, [&](const auto& row) { return young(row, limit); });
  }
  const auto waits = [&](const Row& row) { return row.null(3) || young(row, table.usual); };
  for (const auto& row : rows)
    if (!waits(row)) after = row.integer(0);
  return rows.size() < window || waits(rows.back());
}

Ids expired_ids(const Table& table, const Rows& rows) {
  Ids ids;
  for (const auto& row : rows)
    if (table.expired(row)) ids.push_back(row.integer(0));
  return ids;
}

std::string as_json(const Ids& ids) { return json::dump(json::Array(ids.begin(), ids.end())); }

#define DELIVERY_COLUMNS "id, estado = 'fallida', " AGE_MS("terminada_en")
#define NOTIFICATION_COLUMNS "n.id, n.error IS NOT NULL, " AGE_MS("n.terminada_en")
#define WEBHOOK_COLUMNS "w.id, FALSE, " AGE_MS("w.fecha_baja")

Table notifications(const RetentionSettings& retention);
Table deliveries(const RetentionSettings& retention);
Table webhooks(const RetentionSettings& retention);

// What was seen expired is judged again once it is locked: somebody may have replayed it meanwhile.

std::uint64_t remove_notifications(Session& session, const RetentionSettings& retention, const Ids& seen) {
  // The subquery is of the SELECT, not of the DELETE, which would lock the deliveries that it finds.
  const auto locked = query_ids(
      session, "SELECT " NOTIFICATION_COLUMNS " FROM notificaciones_pendientes n WHERE n.id IN", seen,
      "AND n.estado <> 'pendiente' AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.notificacion_id = n.id)"
      " FOR UPDATE SKIP LOCKED");
  const auto ids = expired_ids(notifications(retention), locked);
  if (ids.empty()) return 0;
  return session.update("DELETE n FROM " STORE_JSON_IDS
                        " j STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = j.id",
                        as_json(ids));
}

std::uint64_t remove_deliveries(Session& session, const RetentionSettings& retention, const Ids& seen) {
  const auto locked =
      query_ids(session, "SELECT " DELIVERY_COLUMNS ", notificacion_id FROM entregas WHERE id IN", seen,
                "AND terminada_en IS NOT NULL FOR UPDATE SKIP LOCKED");
  const auto table = deliveries(retention);
  const auto ids = expired_ids(table, locked);
  if (ids.empty()) return 0;
  const std::string text = as_json(ids);
  session.update("DELETE i FROM " STORE_JSON_IDS
                 " j STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = j.id",
                 text);
  const auto removed = session.update("DELETE e FROM " STORE_JSON_IDS
                                      " j STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id",
                                      text);
  std::set<std::int64_t> theirs;
  for (const auto& row : locked)
    if (table.expired(row)) theirs.insert(row.integer(3));
  return removed + remove_notifications(session, retention, {theirs.begin(), theirs.end()});
}

std::uint64_t remove_webhooks(Session& session, const RetentionSettings& retention, const Ids& seen) {
  const auto locked =
      query_ids(session, "SELECT " WEBHOOK_COLUMNS " FROM webhooks w WHERE w.id IN", seen,
                "AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.webhook_id = w.id) FOR UPDATE SKIP LOCKED");
  const auto ids = expired_ids(webhooks(retention), locked);
  if (ids.empty()) return 0;
  const std::string text = as_json(ids);
  session.update("DELETE x FROM " STORE_JSON_IDS
                 " j STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id",
                 text);
  return session.update("DELETE w FROM " STORE_JSON_IDS
                        " j STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = j.id",
                        text);
}

Table deliveries(const RetentionSettings& retention) {
  return {"SELECT " DELIVERY_COLUMNS
          ", " AGE_MS("creada_en") " FROM entregas WHERE id > ? ORDER BY id LIMIT ?",
          retention.delivered, retention.failed, remove_deliveries};
}

Table notifications(const RetentionSettings& retention) {
  return {"SELECT " NOTIFICATION_COLUMNS ", " AGE_MS(
              "n.terminada_en") " FROM notificaciones_pendientes n WHERE n.id > ? ORDER BY n.id LIMIT ?",
          retention.delivered, retention.rejected, remove_notifications};
}

/// Few, and in no order of their end: always read to the last.
Table webhooks(const RetentionSettings& retention) {
  // By that index whatever the optimiser thinks of a small table: MariaDB 11.8 would rather read it all and
  // sort it.
  return {"SELECT " WEBHOOK_COLUMNS
          ", NULL FROM webhooks w FORCE INDEX (PRIMARY) WHERE w.id > ? ORDER BY w.id LIMIT ?",
          retention.delivered, retention.delivered, remove_webhooks};
}

Table table_of(const PurgeWalk& walk, const RetentionSettings& retention) {
  if (walk.table == 0) return deliveries(retention);
  return walk.table == 1 ? notifications(retention) : webhooks(retention);
}

}  // namespace

std::uint64_t purge_window(Session& session, const RetentionSettings& retention, PurgeWalk& walk,
                           unsigned window) {
  if (walk.done()) walk.restart();
  const auto table = table_of(walk, retention);
  const auto rows = session.query(table.rows_after, walk.after.at(walk.table), window);
  // Moved on before anything can fail: what cannot be removed is the next sweep's.
  if (advance(rows, table, walk, window)) ++walk.table;
  if (!walk.sweep && walk.table == 2) ++walk.table;
  const auto expired = expired_ids(table, rows);
  if (expired.empty()) return 0;
  return transaction(session, [&] { return table.remove(session, retention, expired); });
}

}  // namespace store
