#include "lib/store/maintenance/reconciliation.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/cancelled.hpp"
#include "lib/store/maintenance/locked_batch.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"

namespace store {

namespace {

constexpr unsigned webhooks_at_once = 200;

constexpr std::string_view next_webhook_with_state = R"sql(
  SELECT webhook_id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = ? AND webhook_id > ? ORDER BY webhook_id LIMIT 1)sql";

// The next two statements read webhooks from an id on: whether each is deleted, and whether it has deliveries
// that do not fit its state. The first looks for pending deliveries, the second for held ones. A scalar
// subquery with LIMIT 1 is one seek for each webhook; EXISTS would become, on MySQL, a join that reads every
// delivery in that state.

constexpr std::string_view pending_out_of_place = R"sql(
  SELECT w.id, w.plaza IS NULL AS borrado,
    NOT (w.plaza IS NOT NULL AND w.activo AND t.activa)
      AND (SELECT 1 FROM entregas d FORCE INDEX (entregas_por_reclamar)
           WHERE d.webhook_id = w.id AND d.espera = 'pendiente' LIMIT 1) IS NOT NULL AS fuera_de_lugar
  FROM (SELECT id, entidad_id, plaza, activo FROM webhooks WHERE id >= ? ORDER BY id LIMIT ?) w
  STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id
  ORDER BY w.id)sql";
constexpr std::string_view held_out_of_place = R"sql(
  SELECT w.id, w.plaza IS NULL AS borrado,
    (w.plaza IS NULL
       OR (w.activo AND t.activa AND (x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3))))
      AND (SELECT 1 FROM entregas d FORCE INDEX (entregas_por_reclamar)
           WHERE d.webhook_id = w.id AND d.espera = 'retenida' LIMIT 1) IS NOT NULL AS fuera_de_lugar
  FROM (SELECT id, entidad_id, plaza, activo FROM webhooks WHERE id >= ? ORDER BY id LIMIT ?) w
  STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = w.id
  ORDER BY w.id)sql";

constexpr std::string_view oldest_in_state = R"sql(
  SELECT id, CAST(proximo_intento AS CHAR) AS vence FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = ? AND webhook_id = ? AND proximo_intento >= ? AND (proximo_intento > ? OR id > ?)
  ORDER BY proximo_intento, id LIMIT ?)sql";
constexpr std::string_view if_pending = "AND estado = 'pendiente' FOR UPDATE SKIP LOCKED";
constexpr std::string_view if_held = "AND estado = 'retenida' FOR UPDATE SKIP LOCKED";

/// On MariaDB this statement fails at once, instead of waiting, if another session has locked an index entry
/// or gap that it must change (the reason: lib/store/deliveries/result_rows.cpp).
constexpr std::string_view change_by_id = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id SET )sql";
constexpr std::string_view hold = "e.estado = 'retenida'";
constexpr std::string_view release = "e.estado = 'pendiente', e.proximo_intento = UTC_TIMESTAMP(3)";

std::string_view state_of(const ReconcileWalk& walk) { return walk.held ? "retenida" : "pendiente"; }

/// The next webhook with deliveries in the walk's state.
std::optional<WebhookId> next_webhook(Session& session, const ReconcileWalk& walk) {
  const auto rows = session.query(next_webhook_with_state, state_of(walk), walk.after);
  return rows.empty() ? std::nullopt : std::optional(rows.front().integer("webhook_id"));
}

struct OutOfPlace {
  WebhookId webhook;
  bool deleted;
};

/// The first webhook from `first` on with deliveries that do not fit its state; nullopt: none of the webhooks
/// read has any, and the walk has moved past those webhooks.
std::optional<OutOfPlace> find_out_of_place(Session& session, ReconcileWalk& walk, WebhookId first) {
  for (const auto& row :
       session.query(walk.held ? held_out_of_place : pending_out_of_place, first, webhooks_at_once)) {
    if (row.boolean("fuera_de_lugar")) return OutOfPlace{row.integer("id"), row.boolean("borrado")};
    walk.after = row.integer("id");
  }
  return std::nullopt;
}

struct Batch {
  std::uint64_t changed = 0;
  bool full = false;  // there may be more
};

/// Applies the assignments `change` to at most batch_rows of the webhook's deliveries that are in the walk's
/// state, the earliest due first.
Batch change_batch(Session& session, ReconcileWalk& walk, WebhookId webhook, std::string_view change) {
  const auto statement = std::string(change_by_id).append(change);
  const auto oldest = [&](UtcTime due, DeliveryId after) {
    return session.query(oldest_in_state, state_of(walk), webhook, due, due, after, batch_rows);
  };
  return transaction(session, [&]() -> Batch {
    const auto locked = lock_batch(session, oldest, walk.held ? if_held : if_pending);
    const auto changed = change_accepted(locked.ids, "delivery", walk.refusal, [&](const auto& some) {
      return session.update(statement, json_ids(some));
    });
    return {changed, locked.full};
  });
}

void put_in_place(Session& session, ReconcileWalk& walk, const OutOfPlace& found) {
  const auto change = found.deleted ? ends_cancelled() : std::string(walk.held ? release : hold);
  auto& count = found.deleted ? walk.changed.cancelled
                : walk.held   ? walk.changed.released
                              : walk.changed.held;
  // The walk moves past the webhook before the change: if the change throws, the next call of
  // reconcile_some() goes on with the next webhook.
  const auto before = std::exchange(walk.after, found.webhook);
  Batch batch;
  try {
    batch = change_batch(session, walk, found.webhook, change);
  } catch (const LockTimeout& error) {
    if (!is_locked_place(session, error)) throw;
  }
  count += batch.changed;
  if (batch.full && batch.changed > 0) walk.after = before;
}

}  // namespace

void reconcile_some(Session& session, ReconcileWalk& walk) {
  if (const auto next = next_webhook(session, walk)) {
    if (const auto found = find_out_of_place(session, walk, *next)) put_in_place(session, walk, *found);
    return;
  }
  walk.done = walk.held;
  walk.held = true;
  walk.after = 0;
}

}  // namespace store
