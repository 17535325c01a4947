#include "lib/store/maintenance/retention.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/session/uncommitted.hpp"
#include "lib/store/types.hpp"

namespace store {

namespace {

using config::RetentionSettings;
using platform::Milliseconds;
using Ids = std::vector<std::int64_t>;

// A walk reads these columns of each table:
// - `id`;
// - `clase`, the kind of the row, because each kind has its own retention: 1 for failed and rejected rows, 2
//   for tests, 0 for the others;
// - `fin_ms`, the time in ms since the row's end (for a row of pruebas_por_borrar, since its creation). It is
//   NULL if the row has not ended;
// - `inicio_ms`, the time in ms since the row's creation (for a notification, since its end; for one that is
//   for later, which would stop the follower until then, since `ocurrida_en`). It is NULL for webhooks.

constexpr std::string_view deliveries_after = R"sql(
  SELECT id, notificacion_id, IF(prueba, 2, estado = 'fallida') AS clase,
    TIMESTAMPDIFF(MICROSECOND, terminada_en, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms,
    TIMESTAMPDIFF(MICROSECOND, creada_en, UTC_TIMESTAMP(3)) DIV 1000 AS inicio_ms
  FROM entregas WHERE id > ? ORDER BY id LIMIT ?)sql";
constexpr std::string_view notifications_after = R"sql(
  SELECT id, IF(origen = 'prueba', 2, error IS NOT NULL AND estado <> 'procesada') AS clase,
    TIMESTAMPDIFF(MICROSECOND, terminada_en, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms,
    TIMESTAMPDIFF(MICROSECOND, COALESCE(terminada_en, IF(aplazada_hasta IS NULL, NULL, ocurrida_en)), UTC_TIMESTAMP(3)) DIV 1000 AS inicio_ms
  FROM notificaciones_pendientes WHERE id > ? ORDER BY id LIMIT ?)sql";
/// Reads only the deleted webhooks that are past their retention, in the order of their deletion. Otherwise
/// every sweep would also read the deleted webhooks that are still kept. These may be many, because an entity
/// can register and delete webhooks all day. The hint forces this index, which the optimiser would not use
/// for a small table.
constexpr std::string_view deleted_webhooks_after = R"sql(
  SELECT id, 0 AS clase, CAST(fecha_baja AS CHAR) AS baja,
    TIMESTAMPDIFF(MICROSECOND, fecha_baja, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms, NULL AS inicio_ms
  FROM webhooks FORCE INDEX (webhooks_borrados)
  WHERE fecha_baja >= ? AND fecha_baja < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
    AND (fecha_baja > ? OR id > ?)
  ORDER BY fecha_baja, id LIMIT ?)sql";

// Expired rows are checked again once they are locked, because they may have been replayed since they were
// read.

// A read with SKIP LOCKED does not detect every lock of another session, for example not the lock of a gap in
// an index. An INSERT of the evaluation system that finds its `clave` taken keeps such a lock until its
// transaction ends. So every DELETE below is run without_waiting.

/// A notification has at most five deliveries. The hint forces this index even for many notifications.
constexpr std::string_view deliveries_of = R"sql(
  SELECT id, notificacion_id, IF(prueba, 2, estado = 'fallida') AS clase,
    TIMESTAMPDIFF(MICROSECOND, terminada_en, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms
  FROM entregas FORCE INDEX (entregas_una_por_webhook) WHERE notificacion_id IN)sql";
constexpr std::string_view ended_deliveries = R"sql(
  SELECT id, IF(prueba, 2, estado = 'fallida') AS clase,
    TIMESTAMPDIFF(MICROSECOND, terminada_en, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms, notificacion_id, intentos
  FROM entregas FORCE INDEX (PRIMARY) WHERE id IN)sql";
constexpr std::string_view lock_ended = "AND terminada_en IS NOT NULL FOR UPDATE SKIP LOCKED";
constexpr std::string_view delete_attempts = R"sql(
  DELETE i FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = j.id)sql";
/// Most attempts that one transaction deletes. A delivery can have far more: each replay adds some.
constexpr std::int64_t most_attempts = 5000;
constexpr std::string_view delete_oldest_attempts = R"sql(
  DELETE FROM intentos_entrega WHERE entrega_id = ? ORDER BY numero LIMIT ?)sql";
constexpr std::string_view delete_deliveries = R"sql(
  DELETE e FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id)sql";

constexpr std::string_view notifications_by_id = R"sql(
  SELECT n.id, IF(n.origen = 'prueba', 2, n.error IS NOT NULL AND n.estado <> 'procesada') AS clase,
    TIMESTAMPDIFF(MICROSECOND, n.terminada_en, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms
  FROM notificaciones_pendientes n FORCE INDEX (PRIMARY) WHERE n.id IN)sql";
constexpr std::string_view lock_ended_notifications = "AND n.estado <> 'pendiente' FOR UPDATE SKIP LOCKED";
/// This condition is in the locking SELECT and not in the DELETE, because in a DELETE the subquery would lock
/// the deliveries that it finds.
constexpr std::string_view lock_ended_without_deliveries = R"sql(
    AND n.estado <> 'pendiente' AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.notificacion_id = n.id)
  FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view delete_notifications = R"sql(
  DELETE n FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = j.id)sql";

constexpr std::string_view forget_withdrawals = R"sql(
  DELETE a FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN notificaciones_anuladas a FORCE INDEX (notificaciones_anuladas_de) ON a.notificacion_id = j.id)sql";

constexpr std::string_view present_by_id = "SELECT id FROM notificaciones_pendientes WHERE id IN";

constexpr std::string_view webhooks_by_id = R"sql(
  SELECT w.id, 0 AS clase, TIMESTAMPDIFF(MICROSECOND, w.fecha_baja, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms
  FROM webhooks w FORCE INDEX (PRIMARY) WHERE w.id IN)sql";
constexpr std::string_view lock_without_deliveries = R"sql(
    AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.webhook_id = w.id)
  FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view delete_executions = R"sql(
  DELETE x FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id)sql";
constexpr std::string_view delete_diagnoses = R"sql(
  DELETE d FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN diagnosticos d FORCE INDEX (PRIMARY) ON d.webhook_id = j.id)sql";
constexpr std::string_view executions_by_id = R"sql(
  SELECT webhook_id AS id FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id IN)sql";
constexpr std::string_view diagnoses_by_id = R"sql(
  SELECT webhook_id AS id FROM diagnosticos FORCE INDEX (PRIMARY) WHERE webhook_id IN)sql";
constexpr std::string_view lock_unheld = "FOR UPDATE SKIP LOCKED";
constexpr std::string_view delete_webhooks = R"sql(
  DELETE w FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = j.id)sql";

constexpr std::string_view tests_after = R"sql(
  SELECT notificacion_id AS id, 2 AS clase,
    TIMESTAMPDIFF(MICROSECOND, creada_en, UTC_TIMESTAMP(3)) DIV 1000 AS fin_ms,
    TIMESTAMPDIFF(MICROSECOND, creada_en, UTC_TIMESTAMP(3)) DIV 1000 AS inicio_ms
  FROM pruebas_por_borrar FORCE INDEX (PRIMARY) WHERE notificacion_id > ? ORDER BY notificacion_id LIMIT ?)sql";
constexpr std::string_view forget_tests = R"sql(
  DELETE p FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN pruebas_por_borrar p FORCE INDEX (PRIMARY) ON p.notificacion_id = j.id)sql";

struct Removed {
  std::uint64_t rows = 0;
  bool unfinished = false;  // there was no room for all attempts (most_attempts)
};

/// A table, for the walks.
struct Table {
  std::string_view name;        // of a row, for the log
  std::string_view rows_after;  // SQL: reads the next rows in the order of ids; webhooks: see rows_after()
  std::string_view removed_by;  // the column with the ids for `remove`
  Milliseconds usual;           // retention of rows with `clase` 0
  Milliseconds other;           // with `clase` 1: failed and rejected
  Milliseconds tests;           // with `clase` 2
  Removed (*remove)(Session&, const RetentionSettings&, const Ids&);

  bool expired(const Row& row) const {
    const auto age = row.optional_integer("fin_ms");
    const auto kind = row.integer("clase");
    return age && *age > (kind == 2 ? tests : kind == 1 ? other : usual).count();
  }
};

constexpr std::size_t webhooks_table = 2;  // value of PurgeWalk::table

/// A creation time further in the future than this comes from a wrong clock, and must not stop a walk for
/// ever.
constexpr Milliseconds wrong_clock = std::chrono::days(1);

/// True: this row is too recent to have expired, and so are all later ones.
bool young(const Row& row, Milliseconds limit) {
  const auto age = row.optional_integer("inicio_ms");
  return age && *age <= limit.count() && *age > -wrong_clock.count();
}

/// Moves the walk past the rows that it has finished. Returns true when the walk of this table ends: the
/// following rows are too young, or there are none.
bool advance(const Rows& rows, const Table& table, PurgeWalk& walk, unsigned window) {
  auto& after = walk.after.at(walk.table);
  if (walk.sweep) {
    if (!rows.empty()) after = rows.back().integer("id");
    if (!rows.empty() && walk.table == webhooks_table) walk.deleted_after = rows.back().time("baja");
    const auto limit = std::min(table.usual, table.other);
    return rows.size() < window ||
           std::ranges::all_of(rows, [&](const auto& row) { return young(row, limit); });
  }
  const auto waits = [&](const Row& row) { return row.null("inicio_ms") || young(row, table.usual); };
  for (const auto& row : rows)
    if (!waits(row)) after = row.integer("id");
  return rows.size() < window || waits(rows.back());
}

Ids expired_ids(const Table& table, const Rows& rows) {
  Ids ids;
  for (const auto& row : rows)
    if (table.expired(row)) ids.push_back(row.integer(table.removed_by));
  return ids;
}

Table notifications(const RetentionSettings& retention);
Table deliveries(const RetentionSettings& retention);
Table webhooks(const RetentionSettings& retention);

/// Deletes locked notifications without deliveries. Returns how many.
std::uint64_t delete_with_withdrawals(Session& session, const Ids& ids) {
  const std::string text = json_ids(ids);
  session.update(without_waiting<forget_withdrawals>, text);
  return session.update(without_waiting<delete_notifications>, text);
}

Removed remove_notifications(Session& session, const RetentionSettings& retention, const Ids& seen) {
  const auto locked = query_ids(session, notifications_by_id, seen, lock_ended_without_deliveries);
  const auto ids = expired_ids(notifications(retention), locked);
  if (ids.empty()) return {};
  return {delete_with_withdrawals(session, ids)};
}

using Groups = std::map<std::int64_t, Ids>;  // ids of deliveries, by notification

Groups expired_groups(const Table& table, const Rows& rows) {
  Groups groups;
  std::set<std::int64_t> kept;
  for (const auto& row : rows) {
    const auto notification = row.integer("notificacion_id");
    groups[notification].push_back(row.integer("id"));
    if (!table.expired(row)) kept.insert(notification);
  }
  std::erase_if(groups, [&](const auto& group) { return kept.contains(group.first); });
  return groups;
}

/// Groups that are locked, and the number of attempts of each of their deliveries.
struct LockedGroups {
  Groups groups;
  std::map<std::int64_t, std::int64_t> attempts{};
};

/// Locks `seen`, and returns the groups in which no other session has locked a row (notification or
/// delivery).
LockedGroups lock_groups(Session& session, const Table& table, const Groups& seen) {
  Ids notifications;
  for (const auto& [notification, ids] : seen) notifications.push_back(notification);
  Ids wanted;
  for (const auto& row : query_ids(session, notifications_by_id, notifications, lock_ended_notifications))
    std::ranges::copy(seen.at(row.integer("id")), std::back_inserter(wanted));
  const auto rows = query_ids(session, ended_deliveries, wanted, lock_ended);
  LockedGroups locked{.groups = expired_groups(table, rows)};
  std::erase_if(locked.groups,
                [&](const auto& group) { return group.second.size() < seen.at(group.first).size(); });
  for (const auto& row : rows) locked.attempts.emplace(row.integer("id"), row.integer("intentos"));
  return locked;
}

/// Takes the group's attempts out of `room`. If there are more attempts than room, deletes as many as there
/// is room for. True: the group can be deleted. `intentos` may exceed the number of rows, because not every
/// failed probe is kept.
bool make_room(Session& session, const Ids& group, const std::map<std::int64_t, std::int64_t>& attempts,
               std::int64_t& room) {
  std::int64_t all = 0;
  for (const auto id : group) all += attempts.at(id);
  if (all <= room) {
    room -= all;
    return true;
  }
  for (const auto id : group) {
    room -= static_cast<std::int64_t>(session.update(without_waiting<delete_oldest_attempts>, id, room));
    if (room == 0) return false;
  }
  return true;
}

/// Deletes each notification in `of` with its deliveries, if all its deliveries have expired. If only some of
/// the deliveries were deleted, the notification would seem to have had fewer webhooks.
Removed remove_deliveries(Session& session, const RetentionSettings& retention, const Ids& of) {
  const auto table = deliveries(retention);
  const std::set<std::int64_t> notifications(of.begin(),
                                             of.end());  // once each, even if several deliveries have expired
  const auto seen = expired_groups(
      table, query_ids(session, deliveries_of, {notifications.begin(), notifications.end()}, {}));
  Ids theirs;
  Ids ids;
  Removed removed;
  auto room = most_attempts;
  const auto locked = lock_groups(session, table, seen);
  for (const auto& [notification, group] : locked.groups) {
    removed.unfinished = !make_room(session, group, locked.attempts, room);
    if (removed.unfinished) break;
    theirs.push_back(notification);
    std::ranges::copy(group, std::back_inserter(ids));
  }
  if (ids.empty()) return removed;
  const std::string text = json_ids(ids);
  session.update(without_waiting<delete_attempts>, text);
  removed.rows = session.update(without_waiting<delete_deliveries>, text);
  removed.rows += delete_with_withdrawals(session, theirs);
  return removed;
}

/// Removes a webhook from `ids` if another session has locked its row in the table of `rows_by_id`, and locks
/// the other rows. A webhook has at most one row there, and a deleted webhook gets no new row.
void leave_held(Session& session, std::string_view rows_by_id, Ids& ids) {
  if (ids.empty()) return;
  const auto theirs = ids_in(query_ids(session, rows_by_id, ids, {}));
  const auto locked = ids_in(query_ids(session, rows_by_id, theirs, lock_unheld));
  const std::set<std::int64_t> all(theirs.begin(), theirs.end());
  const std::set<std::int64_t> ours(locked.begin(), locked.end());
  std::erase_if(ids, [&](const auto id) { return all.contains(id) && !ours.contains(id); });
}

Removed remove_webhooks(Session& session, const RetentionSettings& retention, const Ids& seen) {
  const auto locked = query_ids(session, webhooks_by_id, seen, lock_without_deliveries);
  auto ids = expired_ids(webhooks(retention), locked);
  leave_held(session, executions_by_id, ids);
  leave_held(session, diagnoses_by_id, ids);
  if (ids.empty()) return {};
  const std::string text = json_ids(ids);
  session.update(without_waiting<delete_executions>, text);
  session.update(without_waiting<delete_diagnoses>, text);
  return {session.update(without_waiting<delete_webhooks>, text)};
}

Table deliveries(const RetentionSettings& retention) {
  return {"the deliveries of notification",
          deliveries_after,
          "notificacion_id",
          retention.delivered,
          retention.failed,
          retention.tests,
          remove_deliveries};
}

Table notifications(const RetentionSettings& retention) {
  return {"notification",  notifications_after, "id", retention.delivered, retention.rejected,
          retention.tests, remove_notifications};
}

Table webhooks(const RetentionSettings& retention) {
  return {"webhook", deleted_webhooks_after, "id", retention.delivered, retention.delivered,
          {},        remove_webhooks};
}

/// Tests that are in flight, held or locked stay until another sweep.
Removed remove_tests(Session& session, const RetentionSettings& retention, const Ids& seen) {
  auto removed = remove_deliveries(session, retention, seen);
  removed.rows += remove_notifications(session, retention, seen).rows;
  // A SELECT finds the notifications that remain, because it takes no lock. A DELETE that looked them up
  // itself would lock them, and so wait for the locks of other sessions.
  auto gone = seen;
  for (const auto id : ids_in(query_ids(session, present_by_id, seen, {}))) std::erase(gone, id);
  if (!gone.empty()) session.update(without_waiting<forget_tests>, json_ids(gone));
  return removed;
}

Table tests(const RetentionSettings& retention) {
  return {"test notification", tests_after,     "id",        retention.tests,
          retention.tests,     retention.tests, remove_tests};
}

Table table_of(const PurgeWalk& walk, const RetentionSettings& retention) {
  if (walk.table == 0) return deliveries(retention);
  if (walk.table == 1) return notifications(retention);
  return walk.table == webhooks_table ? webhooks(retention) : tests(retention);
}

Rows rows_after(Session& session, const Table& table, const PurgeWalk& walk, unsigned window) {
  const auto after = walk.after.at(walk.table);
  if (walk.table != webhooks_table)  // what has expired is checked again under lock
    return read_uncommitted(session, [&] { return session.query(table.rows_after, after, window); });
  return session.query(table.rows_after, walk.deleted_after, microseconds(table.usual), walk.deleted_after,
                       after, window);
}

}  // namespace

std::uint64_t purge_window(Session& session, const RetentionSettings& retention, PurgeWalk& walk,
                           unsigned window) {
  if (walk.done()) walk.restart();
  const auto before = walk;
  const auto table = table_of(walk, retention);
  const auto rows = rows_after(session, table, walk, window);
  // The walk moves on first, because the deletion may fail; the next sweep finds the rows that remain.
  walk.refusal.clear();
  if (advance(rows, table, walk, window)) ++walk.table;
  if (!walk.sweep && walk.table == webhooks_table) walk.table = walk.after.size();
  const auto expired = expired_ids(table, rows);
  if (expired.empty()) return 0;
  Removed removed;
  const auto read_again = [&] {
    if (!removed.unfinished) return;
    walk.table = before.table;
    walk.after = before.after;
    walk.deleted_after = before.deleted_after;
  };
  unsigned left = 0;  // rows that were refused, or that met a lock which SKIP LOCKED does not detect
  try {
    isolate(
        expired,
        [&](const Ids& some) {
          const auto [count, unfinished] =
              transaction(session, [&] { return table.remove(session, retention, some); });
          removed.rows += count;
          removed.unfinished = removed.unfinished || unfinished;
        },
        [&](std::int64_t id, const DatabaseError& error) {
          ++left;
          if (is_refused(error))
            walk.refusal = std::string(table.name) + ' ' + std::to_string(id) + ": " + error.what();
        },
        [&](const DatabaseError& error) {
          return (is_refused(error) || is_locked_place(session, error)) && left < most_refused;
        });
  } catch (...) {
    read_again();
    throw;
  }
  read_again();
  return removed.rows;
}

}  // namespace store
