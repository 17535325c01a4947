#include "store/replays/replay_feed.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "store/replays/candidates.hpp"
#include "store/session/batches.hpp"
#include "store/session/json_rows.hpp"
#include "store/session/rows_by_key.hpp"

namespace store {

namespace {

namespace json = webhook::json;

constexpr unsigned looked_at = 2000;  // deliveries of a range, at a time

constexpr std::string_view next_webhook = R"sql(
  SELECT en_marcha_de FROM reenvios FORCE INDEX (reenvios_uno_en_marcha)
  WHERE en_marcha_de > ? ORDER BY en_marcha_de LIMIT 1)sql";
/// `falla`: not when it has refused that very notification alone (a 4xx), 429 apart.
constexpr std::string_view state_of_webhook = R"sql(
  SELECT w.plaza IS NOT NULL AS existe, w.entidad_id, w.activo AND t.activa AND COALESCE(x.descansa_hasta <= UTC_TIMESTAMP(3), TRUE) AS recibe,
    COALESCE(x.ultimo_error <> '' AND (x.ultimo_estado IS NULL OR x.ultimo_estado = 429 OR x.ultimo_estado >= 500), FALSE)
      AS falla,
    EXISTS (SELECT 1 FROM entregas e WHERE e.reintento_de = w.id) AS espera
  FROM webhooks w JOIN entidades t ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ?)sql";

constexpr std::string_view first_single = R"sql(
  SELECT id FROM reenvios FORCE INDEX (reenvios_uno_en_marcha)
  WHERE en_marcha_de = ? AND entrega_id > 0 ORDER BY entrega_id LIMIT 1)sql";
constexpr std::string_view range_replay = R"sql(
  SELECT id FROM reenvios FORCE INDEX (reenvios_uno_en_marcha) WHERE en_marcha_de = ? AND entrega_id = 0)sql";
constexpr std::string_view lock_replay = R"sql(
  SELECT id, entidad_id, entrega_id, CAST(desde AS CHAR) AS desde, CAST(hasta AS CHAR) AS hasta, eventos, fallidas,
    entregadas, tope, reenviadas, avance
  FROM reenvios FORCE INDEX (PRIMARY)
  WHERE id = ? AND estado IN ('pendiente', 'en_curso') FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view cancel_replays_of = R"sql(
  UPDATE reenvios FORCE INDEX (reenvios_uno_en_marcha)
  SET estado = 'cancelado', terminado_en = UTC_TIMESTAMP(3) WHERE en_marcha_de = ?)sql";

constexpr std::string_view cancel_replay_by_id = R"sql(
  UPDATE reenvios SET estado = 'cancelado', terminado_en = UTC_TIMESTAMP(3) WHERE id = ?)sql";

constexpr std::string_view not_yet_tried = R"sql(
  SELECT r.reenvio_id, r.entrega_id,
    COALESCE(e.intentos > r.intentos_antes OR e.estado NOT IN ('pendiente', 'en_curso'), TRUE) AS intentada
  FROM reenvios_entregas r FORCE INDEX (reenvios_por_intentar) LEFT JOIN entregas e ON e.id = r.entrega_id
  WHERE r.por_intentar = ?)sql";
constexpr std::string_view note_tried = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (replay BIGINT PATH '$[0]', id BIGINT PATH '$[1]')) j
  STRAIGHT_JOIN reenvios_entregas r FORCE INDEX (PRIMARY) ON r.reenvio_id = j.replay AND r.entrega_id = j.id
  SET r.por_intentar = NULL)sql";

/// Some of the webhook's, in the order of their ids, which is nearly that of time: behind a row that is a day
/// too young there is none that fits.
constexpr std::string_view page_of_webhook = R"sql(
  SELECT e.id, e.creada_en >= ? + INTERVAL 1 DAY AS joven, )sql";
constexpr std::string_view in_page = R"sql( AS encaja
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
        WHERE webhook_id = ? AND id > ? ORDER BY id LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  ORDER BY e.id)sql";
constexpr std::string_view may_be_replayed = R"sql(
  SELECT e.id FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.id = ? AND e.webhook_id = ? AND n.estado <> 'cancelada'
    AND (e.estado IN ('entregada', 'fallida') OR (e.estado = 'pendiente' AND e.paso > 0)))sql";

constexpr std::string_view deliveries_by_id =
    "SELECT id, intentos FROM entregas FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view that_ended =
    "AND (estado IN ('entregada', 'fallida') OR (estado = 'pendiente' AND paso > 0)) FOR UPDATE SKIP LOCKED";
constexpr std::string_view make_due = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.entregada_en = COALESCE(e.entregada_en, IF(e.estado = 'entregada', e.terminada_en, NULL)),
    e.estado = 'pendiente', e.paso = 0, e.adelantada = FALSE, e.no_antes = NULL, e.reenviada = TRUE,
    e.proximo_intento = UTC_TIMESTAMP(3), e.terminada_en = NULL)sql";
constexpr std::string_view note_replayed = R"sql(
  INSERT INTO reenvios_entregas (reenvio_id, entrega_id, intentos_antes, por_intentar)
  SELECT ?, j.id, j.attempts, ?
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', attempts INT PATH '$[1]')) j)sql";
/// Assignments run from left to right.
constexpr std::string_view note_progress = R"sql(
  UPDATE reenvios SET avance = ?, reenviadas = reenviadas + ?, estado = IF(?, 'terminado', 'en_curso'),
    terminado_en = IF(estado = 'terminado', UTC_TIMESTAMP(3), NULL)
  WHERE id = ?)sql";

constexpr std::string_view ended_long_ago = R"sql(
  SELECT id FROM reenvios FORCE INDEX (reenvios_terminados)
  WHERE terminado_en < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND ORDER BY terminado_en LIMIT 1)sql";
constexpr std::string_view forget_deliveries = "DELETE FROM reenvios_entregas WHERE reenvio_id = ? LIMIT ?";
constexpr std::string_view forget = "DELETE FROM reenvios WHERE id = ?";

/// How many of the webhook are due and not yet tried; the others are noted.
std::size_t count_waiting(Session& session, WebhookId webhook) {
  json::Array tried;
  const auto rows = session.query(not_yet_tried, webhook);
  for (const auto& row : rows) {
    if (row.boolean("intentada"))
      tried.emplace_back(json::Array{row.integer("reenvio_id"), row.integer("entrega_id")});
  }
  const auto waiting = rows.size() - tried.size();
  if (!tried.empty()) session.update(note_tried, json::dump(tried));
  return waiting;
}

/// The next of a replay's deliveries.
struct Page {
  std::vector<DeliveryId> chosen;
  DeliveryId looked_up_to = 0;
  bool last = false;
};

Page read_page(Session& session, WebhookId webhook, const Row& replay, std::size_t room) {
  const auto since = replay.time("desde");
  const auto until = replay.time("hasta");
  const auto events = replay.optional_text("eventos");
  Page page{{}, replay.integer("avance"), false};
  const auto rows = session.query(with_fits_replay(page_of_webhook, in_page), until,
                                  replay.boolean("fallidas"), replay.boolean("entregadas"), since, until,
                                  events, events, webhook, page.looked_up_to, looked_at);
  page.last = rows.size() < looked_at;
  for (const auto& row : rows) {
    if (row.boolean("joven")) {
      page.last = true;
      return page;
    }
    if (row.boolean("encaja")) {
      if (page.chosen.size() == room) {
        page.last = false;
        return page;
      }
      page.chosen.push_back(row.integer("id"));
    }
    page.looked_up_to = row.integer("id");
  }
  return page;
}

Page read_single(Session& session, WebhookId webhook, const Row& replay) {
  const auto delivery = replay.integer("entrega_id");
  Page page{{}, delivery, true};
  if (!session.query(may_be_replayed, delivery, webhook).empty()) page.chosen.push_back(delivery);
  return page;
}

struct Fed {
  std::uint64_t replayed = 0;
  std::uint64_t finished = 0;
};

/// Hands over what of the page nobody holds, up to the first that somebody does: that has its turn next time.
Fed replay_page(Session& session, WebhookId webhook, std::int64_t replay, Page page) {
  std::map<DeliveryId, std::int64_t> attempts;
  if (!page.chosen.empty()) {
    for (const auto& row : query_ids(session, deliveries_by_id, page.chosen, that_ended))
      attempts.emplace(row.integer("id"), row.integer("intentos"));
  }
  const auto held = std::ranges::find_if(page.chosen, [&](DeliveryId id) { return !attempts.contains(id); });
  if (held != page.chosen.end()) {
    page.looked_up_to = *held - 1;
    page.last = false;
    page.chosen.erase(held, page.chosen.end());
  }
  json::Array replayed;
  for (const auto id : page.chosen) replayed.emplace_back(json::Array{id, attempts.at(id)});
  if (!replayed.empty()) {
    session.update(make_due, json_ids(page.chosen));
    session.update(note_replayed, replay, webhook, json::dump(replayed));
  }
  session.update(note_progress, page.looked_up_to, replayed.size(), page.last, replay);
  return {replayed.size(), page.last ? 1U : 0U};
}

std::optional<Row> lock_first(Session& session, WebhookId webhook) {
  auto found = session.query(first_single, webhook);
  if (found.empty()) found = session.query(range_replay, webhook);
  if (found.empty()) return std::nullopt;
  auto locked = session.query(lock_replay, found.front().integer("id"));
  if (locked.empty()) return std::nullopt;
  return std::move(locked.front());
}

Fed feed(Session& session, WebhookId webhook, unsigned most_waiting) {
  const auto states = session.query(state_of_webhook, webhook);
  if (states.empty() || !states.front().boolean("existe"))
    return {.finished = session.update(cancel_replays_of, webhook)};
  const auto& state = states.front();
  if (!state.boolean("recibe")) return {};
  const auto replay = lock_first(session, webhook);  // another dispatcher is at it: it has the rest, too
  if (!replay) return {};
  // Whoever writes the request is not believed (docs/security.md).
  if (replay->integer("entidad_id") != state.integer("entidad_id"))
    return {.finished = session.update(cancel_replay_by_id, replay->integer("id"))};
  const bool single = replay->integer("entrega_id") != 0;
  const auto waiting = count_waiting(session, webhook);
  const bool failing = state.boolean("falla");
  if (failing && !single && state.boolean("espera")) return {};
  const std::size_t most = failing ? 1 : most_waiting;
  if (waiting >= most) return {};
  const auto left = replay->unsigned_integer("tope") - replay->unsigned_integer("reenviadas");
  const auto room = std::min<std::uint64_t>(most - waiting, left);
  auto page = single ? read_single(session, webhook, *replay) : read_page(session, webhook, *replay, room);
  if (!single && page.chosen.size() == left) page.last = true;
  return replay_page(session, webhook, replay->integer("id"), std::move(page));
}

}  // namespace

void feed_replays(Session& session, unsigned most_waiting, ReplayWalk& walk) {
  const auto rows = session.query(next_webhook, walk.after);
  if (rows.empty()) {
    walk.done = true;
    return;
  }
  const auto webhook = rows.front().integer("en_marcha_de");
  walk.after = webhook;  // whatever goes wrong, the next one has its turn
  ++walk.webhooks;
  const auto fed = transaction(session, [&] { return feed(session, webhook, most_waiting); });
  walk.replayed += fed.replayed;
  walk.finished += fed.finished;
}

bool forget_old_replay(Session& session, platform::Milliseconds kept) {
  const auto rows = session.query(ended_long_ago, std::int64_t{kept.count()} * 1000);
  if (rows.empty()) return false;
  const auto id = rows.front().integer("id");
  if (session.update(forget_deliveries, id, batch_rows) < batch_rows) session.update(forget, id);
  return true;
}

}  // namespace store
