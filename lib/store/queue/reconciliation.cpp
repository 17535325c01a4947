#include "store/queue/reconciliation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/deliveries/exists_delivery.hpp"
#include "store/session/batches.hpp"
#include "store/session/json_rows.hpp"

namespace store {

namespace json = webhook::json;

namespace {

constexpr unsigned webhooks_at_once = 200;

constexpr std::string_view cancel = "e.estado = 'cancelada', e.terminada_en = UTC_TIMESTAMP(3)";
constexpr std::string_view hold = "e.estado = 'retenida'";
constexpr std::string_view release = "e.estado = 'pendiente', e.proximo_intento = UTC_TIMESTAMP(3)";

std::string_view state_of(const ReconcileWalk& walk) { return walk.held ? "retenida" : "pendiente"; }

/// The next webhook with something in that state.
std::optional<WebhookId> next_webhook(Session& session, const ReconcileWalk& walk) {
  const auto rows = session.query(
      "SELECT webhook_id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = ? AND webhook_id > "
      "?"
      " ORDER BY webhook_id LIMIT 1",
      state_of(walk), walk.after);
  return rows.empty() ? std::nullopt : std::optional(rows.front().integer(0));
}

// Of the webhooks from one on, by id: the id, whether it is deleted, whether deliveries in the state are out
// of place.
#define WEBHOOKS_FROM                                                                              \
  " FROM (SELECT id, entidad_id, plaza, activo FROM webhooks WHERE id >= ? ORDER BY id LIMIT ?) w" \
  " JOIN entidades t ON t.id = w.entidad_id LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id"
constexpr std::string_view pending_out_of_place =
    "SELECT w.id, w.plaza IS NULL, NOT (w.plaza IS NOT NULL AND w.activo AND t.activa)"
    " AND " STORE_EXISTS_DELIVERY("w.id", "'pendiente'") WEBHOOKS_FROM " ORDER BY w.id";
constexpr std::string_view held_out_of_place =
    "SELECT w.id, w.plaza IS NULL, (w.plaza IS NULL OR (w.activo AND t.activa AND (x.descansa_hasta IS NULL "
    "OR"
    " x.descansa_hasta <= UTC_TIMESTAMP(3)))) AND " STORE_EXISTS_DELIVERY("w.id", "'retenida'") WEBHOOKS_FROM
    " ORDER BY w.id";

struct OutOfPlace {
  WebhookId webhook;
  bool deleted;
};

/// The first webhook from `first` on whose deliveries are out of place; none: the walk has moved past those
/// looked at.
std::optional<OutOfPlace> find_out_of_place(Session& session, ReconcileWalk& walk, WebhookId first) {
  for (const auto& row :
       session.query(walk.held ? held_out_of_place : pending_out_of_place, first, webhooks_at_once)) {
    if (row.boolean(2)) return OutOfPlace{row.integer(0), row.boolean(1)};
    walk.after = row.integer(0);
  }
  return std::nullopt;
}

/// Up to batch_rows deliveries of a webhook in `state`, oldest first, through `change`: the SET of an UPDATE
/// of `e`.
std::uint64_t change_batch(Session& session, WebhookId webhook, std::string_view state,
                           std::string_view change) {
  return transaction(session, [&]() -> std::uint64_t {
    json::Array ids;
    for (const auto& row :
         session.query("SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = ? AND"
                       " webhook_id = ? ORDER BY proximo_intento, id LIMIT ? FOR UPDATE SKIP LOCKED",
                       state, webhook, batch_rows)) {
      ids.emplace_back(row.integer(0));
    }
    if (ids.empty()) return 0;
    return session.update("UPDATE " STORE_JSON_IDS
                          " j STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id SET " +
                              std::string(change),
                          json::dump(ids));
  });
}

void put_in_place(Session& session, ReconcileWalk& walk, const OutOfPlace& found) {
  const auto change = found.deleted ? cancel : walk.held ? release : hold;
  auto& count = found.deleted ? walk.changed.cancelled
                : walk.held   ? walk.changed.released
                              : walk.changed.held;
  const auto before =
      std::exchange(walk.after, found.webhook);  // whatever goes wrong, the next one has its turn
  const auto changed = change_batch(session, found.webhook, state_of(walk), change);
  count += changed;
  if (changed == batch_rows) walk.after = before;  // there may be more
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
