#include "lib/store/maintenance/reconciliation.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "lib/store/cancelled.hpp"
#include "lib/store/locked_deliveries.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"

namespace store {

namespace {

constexpr std::int64_t ids_at_once = 500;       // of webhooks, in one read
constexpr unsigned least_batch = most_refused;  // so that a few refused deliveries do not fill a batch

constexpr std::string_view next_webhook_with_state = R"sql(
  SELECT webhook_id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = ? AND webhook_id > ? ORDER BY webhook_id LIMIT 1)sql";

// The next two statements find, in a range of ids, the webhooks with deliveries that do not fit their state:
// pending deliveries, and held ones. A scalar subquery with LIMIT 1 is one seek for each webhook; EXISTS
// would become, on MySQL, a join that reads every delivery in that state.

constexpr std::string_view pending_out_of_place = R"sql(
  SELECT w.id, w.plaza IS NULL AS borrado
  FROM webhooks w FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id
  WHERE w.id >= ? AND w.id < ? AND (w.plaza IS NULL OR NOT w.activo OR NOT t.activa)
    AND (SELECT 1 FROM entregas d FORCE INDEX (entregas_por_reclamar)
         WHERE d.webhook_id = w.id AND d.espera = 'pendiente' LIMIT 1) IS NOT NULL
  ORDER BY w.id)sql";
constexpr std::string_view held_out_of_place = R"sql(
  SELECT w.id, w.plaza IS NULL AS borrado
  FROM webhooks w FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN entidades t FORCE INDEX (PRIMARY) ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = w.id
  WHERE w.id >= ? AND w.id < ?
    AND (w.plaza IS NULL
         OR (w.activo AND t.activa AND (x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3))))
    AND (SELECT 1 FROM entregas d FORCE INDEX (entregas_por_reclamar)
         WHERE d.webhook_id = w.id AND d.espera = 'retenida' LIMIT 1) IS NOT NULL
  ORDER BY w.id)sql";

constexpr std::string_view oldest_in_state = R"sql(
  SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = ? AND webhook_id = ? ORDER BY proximo_intento, id LIMIT ?)sql";
constexpr std::string_view if_pending = "AND estado = 'pendiente' FOR UPDATE SKIP LOCKED";
constexpr std::string_view if_held = "AND estado = 'retenida' FOR UPDATE SKIP LOCKED";

constexpr std::string_view hold = "e.estado = 'retenida'";
constexpr std::string_view release =
    "e.estado = 'pendiente', e.proximo_intento = UTC_TIMESTAMP(3), e.prevista = NULL";

std::string_view state_of(const ReconcileWalk& walk) { return walk.held ? "retenida" : "pendiente"; }

/// The next webhook with deliveries in the walk's state.
std::optional<WebhookId> next_webhook(Session& session, const ReconcileWalk& walk) {
  const auto rows = session.query(next_webhook_with_state, state_of(walk), walk.after);
  return rows.empty() ? std::nullopt : std::optional(rows.front().integer("webhook_id"));
}

/// Reads the webhooks of the next range of ids.
void find_out_of_place(Session& session, ReconcileWalk& walk, WebhookId first) {
  const std::int64_t end = first.number() + ids_at_once;
  for (const auto& row : session.query(walk.held ? held_out_of_place : pending_out_of_place, first, end))
    walk.found.push_back({row.integer("id"), row.boolean("borrado")});
  walk.webhooks += static_cast<unsigned>(walk.found.size());
  walk.after = end - 1;
}

/// Applies the assignments `change` to the webhook's batch of deliveries in the walk's state. Returns how
/// many it changed.
std::uint64_t change_batch(Session& session, ReconcileWalk& walk, WebhookId webhook,
                           std::string_view change) {
  const auto statement = std::string(change_locked_deliveries).append(change);
  return transaction(session, [&] {
    const auto oldest = session.query(oldest_in_state, state_of(walk), webhook, walk.batch);
    const auto locked = lock_free_deliveries(session, ids_in(oldest), walk.held ? if_held : if_pending);
    return change_accepted(locked, "delivery", walk.refusal,
                           [&](const auto& some) { return session.update(statement, json_ids(some)); });
  });
}

void put_in_place(Session& session, ReconcileWalk& walk, const ReconcileWalk::OutOfPlace& found) {
  const auto change = found.deleted ? ends_cancelled() : std::string(walk.held ? release : hold);
  auto& count = found.deleted ? walk.changed.cancelled
                : walk.held   ? walk.changed.released
                              : walk.changed.held;
  try {
    count += change_batch(session, walk, found.webhook, change);
  } catch (const LockTimeout& error) {
    if (!is_locked_place(session, error)) throw;
  }
}

}  // namespace

ReconcileWalk next_walk(const ReconcileWalk& ended) {
  ReconcileWalk next;
  next.batch = std::max(least_batch, batch_rows / std::max(1U, ended.webhooks));
  return next;
}

void reconcile_some(Session& session, ReconcileWalk& walk) {
  if (!walk.found.empty()) {
    const auto found = walk.found.back();
    walk.found.pop_back();  // before the change: if the change throws, the next step takes the next webhook
    return put_in_place(session, walk, found);
  }
  if (const auto next = next_webhook(session, walk)) return find_out_of_place(session, walk, *next);
  walk.done = walk.held;
  walk.held = true;
  walk.after = 0;
}

}  // namespace store
