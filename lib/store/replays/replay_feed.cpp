#include "lib/store/replays/replay_feed.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/store/cancelled.hpp"
#include "lib/store/due_anew.hpp"
#include "lib/store/locked_deliveries.hpp"
#include "lib/store/replays/open_deliveries.hpp"
#include "lib/store/replays/range_walk.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr std::size_t most_retrying = 100;  // replayed deliveries waiting for a retry, per webhook
constexpr unsigned failing_after = 10;      // length of a failure streak (see is_failing)

constexpr std::string_view next_webhook = R"sql(
  SELECT en_marcha_de FROM reenvios FORCE INDEX (reenvios_uno_en_marcha)
  WHERE en_marcha_de > ? ORDER BY en_marcha_de LIMIT 1)sql";
constexpr std::string_view state_of_webhook = R"sql(
  SELECT w.plaza IS NOT NULL AS existe, w.entidad_id, w.activo AND t.activa AND COALESCE(x.descansa_hasta <= UTC_TIMESTAMP(3), TRUE) AS recibe,
    COALESCE(x.ultimo_error, '') AS ultimo_error, x.ultimo_estado, COALESCE(x.fallos, 0) AS fallos,
    EXISTS (SELECT 1 FROM entregas e WHERE e.reintento_de = w.id) AS espera
  FROM webhooks w JOIN entidades t ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ?)sql";

/// Skips the replay of a delivery that is in flight, held, or waiting for its first attempt.
constexpr std::string_view first_single = R"sql(
  SELECT r.id
  FROM (SELECT id, entrega_id FROM reenvios FORCE INDEX (reenvios_uno_en_marcha)
        WHERE en_marcha_de = ? AND entrega_id > 0 ORDER BY entrega_id LIMIT 100) r
  LEFT JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = r.entrega_id
  WHERE COALESCE(e.estado NOT IN ('en_curso', 'retenida') AND (e.estado <> 'pendiente' OR e.paso > 0), TRUE)
  ORDER BY r.entrega_id LIMIT 1)sql";
constexpr std::string_view range_replay = R"sql(
  SELECT id FROM reenvios FORCE INDEX (reenvios_uno_en_marcha) WHERE en_marcha_de = ? AND entrega_id = 0)sql";
constexpr std::string_view lock_replay = R"sql(
  SELECT id, entidad_id, entrega_id, CAST(desde AS CHAR) AS desde, CAST(hasta AS CHAR) AS hasta, eventos, fallidas,
    entregadas, candidatas, tope, reenviadas, avance, CAST(pedido_en AS CHAR) AS pedido_en
  FROM reenvios FORCE INDEX (PRIMARY)
  WHERE id = ? AND estado IN ('pendiente', 'en_curso') FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view lock_all_of_webhook = R"sql(
  SELECT id FROM reenvios FORCE INDEX (reenvios_uno_en_marcha)
  WHERE en_marcha_de = ? ORDER BY entrega_id LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view cancel_replays = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN reenvios r FORCE INDEX (PRIMARY) ON r.id = j.id
  SET r.estado = 'cancelado', r.terminado_en = UTC_TIMESTAMP(3)
  WHERE r.estado IN ('pendiente', 'en_curso'))sql";

constexpr std::string_view select = "SELECT ";
constexpr std::string_view or_state_of_single = R"sql( OR e.estado = 'cancelada' AS cancelada,
    e.estado IN ('entregada', 'fallida') OR (e.estado = 'pendiente' AND e.paso > 0) AS reenviable,
    COALESCE(e.estado = 'entregada' AND e.terminada_en > ? AND e.ultimo_estado BETWEEN 200 AND 299, FALSE)
      AS recibida_ya
  FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.id = ? AND e.webhook_id = ?)sql";
constexpr auto state_of_single = joined<select, sent_no_more, or_state_of_single>;
constexpr std::string_view note_already_received = R"sql(
  UPDATE reenvios SET estado = 'terminado', terminado_en = UTC_TIMESTAMP(3), avance = entrega_id, reenviadas = 1,
    recibidas = 1
  WHERE id = ?)sql";

constexpr std::string_view deliveries_by_id =
    "SELECT id, intentos FROM entregas FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view that_ended =
    "AND (estado IN ('entregada', 'fallida') OR (estado = 'pendiente' AND paso > 0)) FOR UPDATE SKIP LOCKED";
constexpr std::string_view pending = "e.estado = 'pendiente', ";
constexpr std::string_view make_due =
    joined<change_locked_deliveries, keep_first_success, pending, due_as_replay>;
constexpr std::string_view note_replayed = R"sql(
  INSERT INTO reenvios_entregas (reenvio_id, entrega_id, intentos_antes, por_intentar)
  SELECT ?, j.id, LEAST(j.attempts, 4294967294), ?  -- the next attempt may not raise a counter at its end
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', attempts BIGINT PATH '$[1]')) j)sql";
/// Assignments are evaluated from left to right, so `terminado_en` depends on the new `estado`.
constexpr std::string_view note_progress = R"sql(
  UPDATE reenvios SET avance = ?, reenviadas = reenviadas + ?, candidatas = GREATEST(candidatas, reenviadas + ?),
    estado = IF(?, 'terminado', 'en_curso'), terminado_en = IF(estado = 'terminado', UTC_TIMESTAMP(3), NULL)
  WHERE id = ?)sql";

constexpr std::string_view ended_long_ago = R"sql(
  SELECT id FROM reenvios FORCE INDEX (reenvios_terminados)
  WHERE terminado_en < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
  ORDER BY terminado_en LIMIT 1 FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view forget_deliveries = "DELETE FROM reenvios_entregas WHERE reenvio_id = ? LIMIT ?";
constexpr std::string_view forget = "DELETE FROM reenvios WHERE id = ?";

struct Fed {
  std::uint64_t replayed = 0;
  std::uint64_t finished = 0;
};

/// Makes the page's deliveries due, up to the first that is locked or in flight; the next call continues with
/// that delivery. `beyond`: 1 if at least one more delivery matches than the replay may send, otherwise 0. If
/// `refusal` is given, leaves out a delivery that the database refuses to change, and names it in `refusal`.
Fed hand_over(Session& session, WebhookId webhook, ReplayId replay, ReplayPage page, std::size_t beyond = 0,
              std::string* refusal = nullptr) {
  std::map<DeliveryId, std::int64_t> attempts;
  if (!page.chosen.empty()) {
    for (const auto& row : query_ids(session, deliveries_by_id, page.chosen, that_ended))
      attempts.emplace(row.integer("id"), row.integer("intentos"));
  }
  const auto locked =
      std::ranges::find_if(page.chosen, [&](DeliveryId id) { return !attempts.contains(id); });
  if (locked != page.chosen.end()) {
    page.looked_up_to = locked->previous();
    page.last = false;
    page.chosen.erase(locked, page.chosen.end());
  }
  json::Array replayed;
  const auto replay_some = [&](const std::vector<DeliveryId>& some) {
    session.update(make_due, json_ids(some));
    for (const auto id : some) replayed.emplace_back(json::Array{id, attempts.at(id)});
  };
  const auto leave_out = [&](DeliveryId id, const DatabaseError& error) {
    if (refusal == nullptr) throw;
    *refusal = "delivery " + to_string(id) + ": " + error.what();
  };
  if (!page.chosen.empty()) isolate(page.chosen, replay_some, leave_out);
  if (!replayed.empty())
    session.update(without_waiting<note_replayed>, replay, webhook, json::dump(replayed));
  session.update(note_progress, page.looked_up_to, replayed.size(), page.last ? beyond : 0, page.last,
                 replay);
  return {replayed.size(), page.last ? 1U : 0U};
}

/// What to do with the replay of one delivery.
enum class Single { send, wait, gone, received };

Single judge_single(Session& session, WebhookId webhook, const Row& replay) {
  const auto rows =
      session.query(state_of_single, replay.time("pedido_en"), replay.integer("entrega_id"), webhook);
  if (rows.empty() || rows.front().boolean("cancelada")) return Single::gone;
  if (rows.front().boolean("recibida_ya")) return Single::received;
  return rows.front().boolean("reenviable") ? Single::send : Single::wait;
}

Fed replay_single(Session& session, WebhookId webhook, const Row& replay) {
  const auto id = replay.integer("id");
  const auto delivery = replay.integer("entrega_id");
  switch (judge_single(session, webhook, replay)) {
    case Single::wait:
      return {};
    case Single::received:
      session.update(note_already_received, id);
      return {1, 1};
    case Single::gone:
      return hand_over(session, webhook, id, {{}, delivery, true});
    case Single::send:
      break;
  }
  return hand_over(session, webhook, id, {{delivery}, delivery, true});
}

Fed replay_range(Session& session, WebhookId webhook, const Row& replay, std::size_t room,
                 std::string& refusal) {
  const auto id = replay.integer("id");
  count_ended(session, id);
  const auto range = bounded({replay.time("desde"), replay.time("hasta"), replay.optional_text("eventos"),
                              replay.boolean("fallidas"), replay.boolean("entregadas")});
  const auto left = replay.unsigned_integer("tope") - replay.unsigned_integer("reenviadas");
  if (left == 0) return hand_over(session, webhook, id, {{}, replay.integer("avance"), true});
  DeliveryId after = replay.integer("avance");
  if (after == 0) after = find_start(session, webhook, range.since);
  // If all matches were counted, `tope` equals `candidatas`. Otherwise `tope` is the quota that was left, and
  // more deliveries may match than that.
  const std::size_t beyond = replay.unsigned_integer("tope") > replay.unsigned_integer("candidatas") ? 1 : 0;
  auto page = read_page(session, webhook, range, after, left <= room ? left + beyond : room);
  const bool cut = page.chosen.size() > left;
  if (cut) page.chosen.resize(left);
  if (page.chosen.size() == left && (cut || beyond == 0)) page.last = true;
  return hand_over(session, webhook, id, std::move(page), cut ? 1 : 0, &refusal);
}

std::optional<Row> lock_first(Session& session, WebhookId webhook) {
  auto found = session.query(first_single, webhook);
  if (found.empty()) found = session.query(range_replay, webhook);
  if (found.empty()) return std::nullopt;
  auto locked = session.query(lock_replay, found.front().integer("id"));
  if (locked.empty()) return std::nullopt;
  return std::move(locked.front());
}

/// Cancels the webhook's replays, except locked ones and those that the database refuses to change.
Fed cancel_all(Session& session, WebhookId webhook, std::string& refusal) {
  const auto ids = ids_in<ReplayId>(session.query(lock_all_of_webhook, webhook, batch_rows));
  return {.finished = change_accepted(ids, "replay", refusal, [&](const auto& some) {
            return session.update(cancel_replays, json_ids(some));
          })};
}

/// Cancels a replay because of `why`. If the database refuses the cancellation, the next walk tries again.
void give_up(Session& session, ReplayId replay, std::string_view why, ReplayWalk& walk) {
  const std::vector<ReplayId> one{replay};
  std::string refusal;
  walk.finished += transaction(session, [&] {
    return change_accepted(one, "replay", refusal,
                           [&](const auto& some) { return session.update(cancel_replays, json_ids(some)); });
  });
  if (refusal.empty())
    walk.unreadable.push_back({replay, std::string(why)});
  else
    walk.refusal = std::move(refusal);
}

/// True: the webhook's last attempt failed, and it got no answer, a 5xx or one that asks to wait, or the
/// failure streak is long.
bool is_failing(const Row& state) {
  if (state.text("ultimo_error").empty()) return false;
  const auto status = static_cast<int>(state.optional_integer("ultimo_estado").value_or(0));
  return status == 0 || status >= 500 ||
         delivery::asks_to_wait(delivery::TransportResult::answered, status) ||
         state.integer("fallos") >= failing_after;
}

/// Makes deliveries of the webhook's first replay due, and sets `at` to that replay.
Fed feed(Session& session, WebhookId webhook, unsigned most_untried, std::optional<ReplayId>& at,
         std::string& refusal) {
  const auto states = session.query(state_of_webhook, webhook);
  if (states.empty() || !states.front().boolean("existe")) return cancel_all(session, webhook, refusal);
  const auto& state = states.front();
  if (!state.boolean("recibe")) return {};
  const auto replay = lock_first(session, webhook);  // empty: it is locked, or no replay can go on yet
  if (!replay) return {};
  const ReplayId id = replay->integer("id");
  at = id;
  // The replay's entity is checked, because the API's database user can write any entity into `reenvios`
  // (docs/security.md).
  if (replay->integer("entidad_id") != state.integer("entidad_id"))
    return {.finished = session.update(cancel_replays, json_ids(id))};
  const bool single = replay->integer("entrega_id") != 0;
  const auto open = read_open(session, webhook);
  const bool failing = is_failing(state);
  if (failing && !single && state.boolean("espera")) return {};
  const std::size_t most = failing ? 1 : most_untried;
  if (open.untried >= most || open.waiting >= most_retrying) return {};
  if (single) return replay_single(session, webhook, *replay);
  return replay_range(session, webhook, *replay, std::min(most - open.untried, most_retrying - open.waiting),
                      refusal);
}

}  // namespace

void feed_replays(Session& session, unsigned most_untried, ReplayWalk& walk) {
  const auto rows = session.query(next_webhook, walk.after);
  if (rows.empty()) {
    walk.done = true;
    return;
  }
  const auto webhook = rows.front().integer("en_marcha_de");
  walk.after = webhook;  // set first: a failure must not stop the walk
  ++walk.webhooks;
  std::optional<ReplayId> at;
  try {
    const auto fed = transaction(session, [&] {
      at.reset();
      return feed(session, webhook, most_untried, at, walk.refusal);
    });
    walk.replayed += fed.replayed;
    walk.finished += fed.finished;
  } catch (const Refused& error) {
    if (!at) throw;
    give_up(session, *at, error.what(), walk);
  } catch (const DatabaseError& error) {
    if (!is_locked_place(session, error)) throw;
  } catch (const std::exception& error) {  // a row with unexpected content
    if (!at) throw;
    give_up(session, *at, error.what(), walk);
  }
}

bool forget_old_replay(Session& session, platform::Milliseconds kept) {
  return transaction(session, [&] {
    const auto rows = session.query(ended_long_ago, microseconds(kept));
    if (rows.empty()) return false;
    const auto id = rows.front().integer("id");
    if (session.update(forget_deliveries, id, batch_rows) < batch_rows) session.update(forget, id);
    return true;
  });
}

}  // namespace store
