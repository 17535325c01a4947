#include "lib/store/notifications/deferred.hpp"

#include <string_view>
#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/keys.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

/// Without a condition, because MySQL might check it for each row of the index.
constexpr std::string_view first_is_due = R"sql(
  SELECT COALESCE((SELECT no_antes_de FROM notificaciones_aplazadas FORCE INDEX (notificaciones_aplazadas_por_hora)
                   ORDER BY no_antes_de LIMIT 1) <= UTC_TIMESTAMP(3), FALSE) AS vence)sql";
constexpr std::string_view due_after = R"sql(
  SELECT notificacion_id AS id, CAST(no_antes_de AS CHAR) AS hora
  FROM notificaciones_aplazadas FORCE INDEX (notificaciones_aplazadas_por_hora)
  WHERE no_antes_de >= ? AND no_antes_de <= UTC_TIMESTAMP(3) AND (no_antes_de > ? OR notificacion_id > ?)
  ORDER BY no_antes_de, notificacion_id LIMIT ?)sql";

constexpr std::string_view deferred_by_id =
    "SELECT id, entidad_id FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view if_deferred = "AND estado = 'aplazada'";
constexpr std::string_view if_deferred_and_free = "AND estado = 'aplazada' FOR UPDATE SKIP LOCKED";

/// They do not wait for locks that SKIP LOCKED does not see.
constexpr std::string_view make_pending =
    "UPDATE notificaciones_pendientes FORCE INDEX (PRIMARY) SET estado = 'pendiente' WHERE id IN";
constexpr std::string_view take_off_list = "DELETE FROM notificaciones_aplazadas WHERE notificacion_id IN";

using Ids = std::vector<NotificationId>;

/// Releases those of `ids` that no other session has locked. Those that are not aplazada any more, such as
/// cancelled ones, only leave the list. Returns what was released.
Rows release(Session& session, const Ids& ids) {
  auto released = query_ids(session, deferred_by_id, ids, if_deferred_and_free);
  if (!released.empty())
    update_ids(session, without_waiting<make_pending>, ids_in<NotificationId>(released), if_deferred);
  std::set<NotificationId> off(ids.begin(), ids.end());
  if (released.size() < ids.size()) {
    for (const auto id : ids_in<NotificationId>(query_ids(session, deferred_by_id, ids, if_deferred)))
      off.erase(id);
    for (const auto id : ids_in<NotificationId>(released)) off.insert(id);
  }
  const Ids listed(off.begin(), off.end());
  if (!listed.empty()) update_ids(session, without_waiting<take_off_list>, listed, "");
  return released;
}

}  // namespace

bool any_deferred_due(Session& session) { return session.query(first_is_due).at(0).boolean("vence"); }

void release_deferred(Session& session, DeferredWalk& walk) {
  const auto rows = session.query(due_after, walk.after, walk.after, walk.after_id, batch_rows);
  walk.done = rows.size() < batch_rows;
  if (rows.empty()) return;
  walk.after = rows.back().time("hora");  // set first: after an exception the walk goes on behind them
  walk.after_id = rows.back().integer("id");
  unsigned left = 0;
  isolate(
      ids_in<NotificationId>(rows),
      [&](const Ids& some) {
        const auto released = transaction(session, [&] { return release(session, some); });
        walk.released += released.size();
        for (const auto& row : released) walk.entities.insert(row.integer("entidad_id"));
      },
      [&](NotificationId id, const DatabaseError& error) {
        ++left;
        if (is_refused(error)) walk.refusal = "notification " + to_string(id) + ": " + error.what();
      },
      [&](const DatabaseError& error) {
        return (is_refused(error) || is_locked_place(session, error)) && left < most_refused;
      });
}

}  // namespace store
