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

constexpr std::string_view first_is_due = R"sql(
  SELECT COALESCE((SELECT aplazada_hasta FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
                   WHERE estado = 'pendiente' AND aplazada_hasta > '1970-01-01'
                   ORDER BY estado, aplazada_hasta LIMIT 1) <= UTC_TIMESTAMP(3), FALSE) AS vence)sql";
/// Three ranges of the index, so that a batch reads nothing of the batches before it.
constexpr std::string_view due_after = R"sql(
  SELECT id, entidad_id, CAST(aplazada_hasta AS CHAR) AS hora
  FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
  WHERE estado = 'pendiente' AND ((aplazada_hasta = ? AND entidad_id = ? AND id > ?) OR
    (aplazada_hasta = ? AND entidad_id > ?) OR (aplazada_hasta > ? AND aplazada_hasta <= UTC_TIMESTAMP(3)))
  ORDER BY estado, aplazada_hasta, entidad_id, id LIMIT ?)sql";

constexpr std::string_view lock_by_id =
    "SELECT id, entidad_id FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view if_deferred_and_free =
    "AND estado = 'pendiente' AND aplazada_hasta IS NOT NULL FOR UPDATE SKIP LOCKED";
/// Does not wait for locks that SKIP LOCKED does not see.
constexpr std::string_view release_by_id =
    "UPDATE notificaciones_pendientes FORCE INDEX (PRIMARY) SET aplazada_hasta = NULL WHERE id IN";

using Ids = std::vector<NotificationId>;

/// Releases those of `ids` that no other session has locked, and returns them.
Rows release(Session& session, const Ids& ids) {
  auto released = query_ids(session, lock_by_id, ids, if_deferred_and_free);
  if (!released.empty())
    update_ids(session, without_waiting<release_by_id>, ids_in<NotificationId>(released), "");
  return released;
}

}  // namespace

bool any_deferred_due(Session& session) { return session.query(first_is_due).at(0).boolean("vence"); }

void release_deferred(Session& session, DeferredWalk& walk) {
  const auto rows = session.query(due_after, walk.after, walk.after_entity, walk.after_id, walk.after,
                                  walk.after_entity, walk.after, batch_rows);
  walk.done = rows.size() < batch_rows;
  if (rows.empty()) return;
  walk.after = rows.back().time("hora");  // set first: after an exception the walk goes on behind them
  walk.after_entity = rows.back().integer("entidad_id");
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
