#include "lib/store/replays/replays.hpp"

#include <limits>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/replays/candidates.hpp"
#include "lib/store/replays/range_walk.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr unsigned looked_at = 2000;  // the most rows that a count reads

/// Begins a statement that counts matches; `of_failed` or `of_range` completes it. `of_failed` reads failed
/// deliveries, those with the latest due time first. `of_range` reads all deliveries from the start of the
/// range on. Each of them reads at most LIMIT rows, however long the range is.
constexpr std::string_view count_within = R"sql(
  SELECT COUNT(*) AS miradas, COALESCE(MAX(e.creada_en) >= ? + INTERVAL 1 DAY, FALSE) AS pasada,
    COALESCE(SUM()sql";
constexpr std::string_view of_failed = R"sql(), 0) AS candidatas
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar)
        WHERE espera = 'fallida' AND webhook_id = ? ORDER BY proximo_intento DESC, id DESC LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id)sql";
constexpr std::string_view of_range = R"sql(), 0) AS candidatas
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
        WHERE webhook_id = ? AND id > ? ORDER BY id LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id)sql";

constexpr std::string_view delivery_to_replay = R"sql(
  SELECT e.estado, e.estado = 'cancelada' OR n.estado = 'cancelada' AS cancelada,
    COALESCE(n.caduca_en <= UTC_TIMESTAMP(3), FALSE) AS caducada, w.activo,
    r.id AS reenvio_id, r.estado AS reenvio_estado
  FROM entregas e
  JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  JOIN webhooks w ON w.id = e.webhook_id AND w.plaza IS NOT NULL
  LEFT JOIN reenvios r FORCE INDEX (reenvios_uno_en_marcha) ON r.en_marcha_de = w.id AND r.entrega_id = e.id
  WHERE e.id = ? AND e.webhook_id = ?)sql";
/// A replay of a range has the `entrega_id` 0.
constexpr std::string_view webhook_to_replay = R"sql(
  SELECT w.activo, r.id AS reenvio_id, r.estado AS reenvio_estado
  FROM webhooks w
  LEFT JOIN reenvios r FORCE INDEX (reenvios_uno_en_marcha) ON r.en_marcha_de = w.id AND r.entrega_id = 0
  WHERE w.id = ? AND w.plaza IS NOT NULL)sql";
constexpr std::string_view insert_single = R"sql(
  INSERT INTO reenvios (entidad_id, webhook_id, entrega_id, fallidas, entregadas, candidatas, tope)
  VALUES (?, ?, ?, TRUE, TRUE, 1, 1))sql";
/// A replay covers only deliveries that already exist. So the range ends with the current millisecond at the
/// latest: `hasta`, which is exclusive, is at most a millisecond from now.
constexpr std::string_view insert_range = R"sql(
  INSERT INTO reenvios (entidad_id, webhook_id, entrega_id, desde, hasta, eventos, fallidas, entregadas,
    candidatas, tope)
  VALUES (?, ?, 0, ?,
    LEAST(COALESCE(CAST(? AS DATETIME(3)), UTC_TIMESTAMP(3) + INTERVAL 1000 MICROSECOND),
      UTC_TIMESTAMP(3) + INTERVAL 1000 MICROSECOND), ?, ?, ?, ?, ?))sql";

/// Adds up the results counted in the replay's row and those not yet counted. A delivery that is `fallida`
/// without a noted result counts as failed: usually it was held for too long.
constexpr std::string_view select_progress = R"sql(
  SELECT v.id, v.entidad_id, v.webhook_id, v.entrega_id, v.estado, v.candidatas, v.reenviadas,
    (SELECT u.evento FROM entregas u WHERE u.id = v.entrega_id) AS evento,
    (SELECT u.ultimo_error FROM entregas u WHERE u.id = v.entrega_id) AS error,
    CAST(v.pedido_en AS CHAR) AS pedido_en, CAST(v.terminado_en AS CHAR) AS terminado_en,
    v.recibidas + COUNT(IF(r.resultado = 'entregada', 1, NULL)) AS entregadas,
    v.agotadas + COUNT(IF(r.resultado = 'fallida' OR (r.resultado IS NULL AND e.estado = 'fallida'), 1, NULL))
      AS fallidas,
    COUNT(IF(e.estado = 'pendiente' AND e.intentos > r.intentos_antes, 1, NULL)) AS por_reintentar)sql";
constexpr std::string_view with_deliveries = R"sql(
  LEFT JOIN reenvios_entregas r FORCE INDEX (PRIMARY) ON r.reenvio_id = v.id
  LEFT JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = r.entrega_id AND r.resultado IS NULL)sql";
constexpr std::string_view from_replays = R"sql(
  FROM reenvios v)sql";
constexpr std::string_view of_one_replay = R"sql(
  WHERE v.id = ? AND v.webhook_id = ? GROUP BY v.id)sql";
constexpr auto progress_of_replay = joined<select_progress, from_replays, with_deliveries, of_one_replay>;
constexpr std::string_view from_newest_of_entity = R"sql(
  FROM (SELECT id FROM reenvios FORCE INDEX (reenvios_por_entidad)
        WHERE entidad_id = ? AND id < ? ORDER BY id DESC LIMIT ?) p
  STRAIGHT_JOIN reenvios v FORCE INDEX (PRIMARY) ON v.id = p.id)sql";
constexpr std::string_view each_replay = R"sql(
  GROUP BY v.id ORDER BY v.id DESC)sql";
constexpr auto page_of_replays = joined<select_progress, from_newest_of_entity, with_deliveries, each_replay>;
constexpr std::string_view cancel = R"sql(
  UPDATE reenvios SET estado = 'cancelado', terminado_en = UTC_TIMESTAMP(3)
  WHERE id = ? AND webhook_id = ? AND estado IN ('pendiente', 'en_curso'))sql";

/// The newest replays that match a filter, oldest first.
constexpr std::string_view filtered_replays = R"sql(
  SELECT * FROM (
    SELECT id, entidad_id, webhook_id, entrega_id, estado, candidatas, reenviadas,
      CAST(pedido_en AS CHAR) AS pedido_en, CAST(terminado_en AS CHAR) AS terminado_en
    FROM reenvios
    WHERE (? IS NULL OR entidad_id = ?) AND (? IS NULL OR webhook_id = ?) AND (? IS NULL OR estado = ?)
      AND (? IS NULL OR pedido_en >= ?)
    ORDER BY id DESC LIMIT ?) newest
  ORDER BY id)sql";
constexpr std::string_view webhook_by_replay = "SELECT webhook_id FROM reenvios WHERE id = ?";

Replay begin_single(Session& session, const Author& author, WebhookId webhook, DeliveryId delivery) {
  session.update(insert_single, author.entity, webhook, delivery);
  const ReplayId id = session.last_insert_id();
  note_change(session, author, AuditedAction::replayed, webhook,
              json::dump(json::Object{{"reenvio", id}, {"entrega", delivery}}), "single");
  return {id, "pendiente"};
}

/// Adds a replay of at most `most` deliveries. Its row has the range that bounded() returns; the audit shows
/// the range that was asked for.
Replay begin_range(Session& session, const Author& author, WebhookId webhook, const ReplayRange& asked,
                   const ReplayCount& found, std::uint64_t most) {
  const auto range = bounded(asked);
  session.update(insert_range, author.entity, webhook, range.since, range.until, range.events, range.failed,
                 range.delivered, found.count, most);
  const ReplayId id = session.last_insert_id();
  json::Object detail{{"reenvio", id}, {"desde", platform::format_iso8601(asked.since)}};
  if (asked.until) detail.emplace_back("hasta", platform::format_iso8601(*asked.until));
  detail.emplace_back("candidatas", static_cast<std::int64_t>(found.count));
  note_change(session, author, AuditedAction::replayed, webhook, json::dump(detail), "range");
  return {id, "pendiente"};
}

/// The unfinished replay in the row; nullopt if there is none.
std::optional<Replay> running_replay(const Row& row) {
  if (row.null("reenvio_id")) return std::nullopt;
  return Replay{row.integer("reenvio_id"), row.text("reenvio_estado")};
}

/// Why a range cannot be replayed now; nullopt if it can.
std::optional<AskedReplay> find_obstacle(Session& session, WebhookId webhook) {
  using enum ReplayAsked;
  const auto rows = session.query(webhook_to_replay, webhook);
  if (rows.empty()) return AskedReplay{not_found};
  if (!rows.front().boolean("activo")) return AskedReplay{inactive};
  if (auto replay = running_replay(rows.front())) return AskedReplay{running, std::move(*replay)};
  return std::nullopt;
}

ReplayProgress read_replay(const Row& row) {
  const auto delivery = row.integer("entrega_id");
  return {{row.integer("id"), row.text("estado")},
          row.integer("entidad_id"),
          row.integer("webhook_id"),
          delivery == 0 ? std::nullopt : std::optional(delivery),
          std::nullopt,
          row.time("pedido_en"),
          row.optional_time("terminado_en"),
          row.unsigned_integer("candidatas"),
          row.unsigned_integer("reenviadas"),
          0,
          0,
          0};
}

/// A row that also has the results of the deliveries.
ReplayProgress read_progress(const Row& row) {
  auto progress = read_replay(row);
  progress.event = row.optional_text("evento");
  progress.delivered = row.unsigned_integer("entregadas");
  progress.failed = row.unsigned_integer("fallidas");
  progress.retrying = row.unsigned_integer("por_reintentar");
  progress.error = row.optional_text("error").value_or("");
  return progress;
}

}  // namespace

ReplayCount count_candidates(Session& session, WebhookId webhook, const ReplayRange& asked) {
  const auto range = bounded(asked);
  const auto count = [&](std::string_view among, unsigned most, const auto&... where) -> ReplayCount {
    const auto rows =
        session.query(with_fits_replay(count_within, among), range.until, range.failed, range.delivered,
                      range.since, range.until, range.events, range.events, webhook, where..., most);
    const auto& row = rows.at(0);
    // Only of_range has a `where`. It reads deliveries in the order of their ids, which is nearly the
    // order of their creation. So no match follows a delivery created a day past the range's end
    // (lib/store/replays/range_walk.hpp).
    const bool all_seen = row.integer("miradas") < most || (sizeof...(where) > 0 && row.boolean("pasada"));
    return {row.unsigned_integer("candidatas"), all_seen};
  };
  if (range.delivered) return count(of_range, looked_at, find_start(session, webhook, range.since));
  const auto failed = count(of_failed, looked_at / 2);
  if (failed.exact) return failed;
  const auto oldest = count(of_range, looked_at / 2, find_start(session, webhook, range.since));
  return oldest.exact || oldest.count > failed.count ? oldest : failed;
}

ReplayCount simulate_replay(Session& session, EntityId entity, WebhookId webhook, const ReplayRange& range,
                            unsigned requests_per_hour) {
  if (requests_per_hour > 0)
    transaction(session, [&] {
      lock_quotas(session, entity);
      use_quota(session, Quota::replay_requests, entity, requests_per_hour);
    });
  return count_candidates(session, webhook, range);
}

// Two requests may ask for the same replay at once. The INSERT of one may then throw DuplicateKey;
// its transaction is repeated, and finds the replay of the other.

AskedReplay ask_replay(Session& session, const Author& author, WebhookId webhook, DeliveryId delivery,
                       unsigned max_per_day) {
  return transaction_past_duplicates(session, [&]() -> AskedReplay {
    using enum ReplayAsked;
    if (max_per_day > 0) lock_quotas(session, author.entity);
    auto quota = replays_left(session, author.entity, max_per_day);
    const auto rows = session.query(delivery_to_replay, delivery, webhook);
    if (rows.empty()) return {not_found};
    const auto& row = rows.front();
    if (row.boolean("caducada")) return {expired};
    if (row.boolean("cancelada")) return {cancelled};
    if (!row.boolean("activo")) return {inactive};
    if (row.text("estado") == "retenida") return {held};
    if (auto replay = running_replay(row)) return {done, std::move(*replay)};
    if (row.text("estado") == "en_curso") return {in_flight};
    quota.require(1);
    --quota.left;
    return {done, begin_single(session, author, webhook, delivery), quota};
  });
}

AskedReplay ask_replay(Session& session, const Author& author, WebhookId webhook, const ReplayRange& range,
                       unsigned max_per_day, unsigned requests_per_hour) {
  if (auto obstacle = find_obstacle(session, webhook)) return std::move(*obstacle);
  // The deliveries are counted last, so that a request that is refused for any other reason than too many
  // matches reads none.
  return transaction_past_duplicates(session, [&]() -> AskedReplay {
    if (max_per_day > 0 || requests_per_hour > 0) lock_quotas(session, author.entity);
    if (auto obstacle = find_obstacle(session, webhook)) return std::move(*obstacle);
    const auto quota = replays_left(session, author.entity, max_per_day);
    quota.require(1);
    use_quota(session, Quota::replay_requests, author.entity, requests_per_hour);
    const auto found = count_candidates(session, webhook, range);
    quota.require(found.count);
    const auto most = found.exact ? found.count : quota.left;
    return {ReplayAsked::done, begin_range(session, author, webhook, range, found, most)};
  });
}

std::optional<ReplayProgress> find_replay(Session& session, WebhookId webhook, ReplayId id) {
  const auto rows = session.query(progress_of_replay, id, webhook);
  if (rows.empty()) return std::nullopt;
  return read_progress(rows.front());
}

bool cancel_replay(Session& session, const std::optional<Author>& author, WebhookId webhook, ReplayId id) {
  return transaction(session, [&] {
    if (session.update(cancel, id, webhook) == 0) return false;
    if (author)
      note_change(session, *author, AuditedAction::replayed, webhook,
                  json::dump(json::Object{{"reenvio", id}, {"cancelado", true}}), "cancelled");
    return true;
  });
}

std::vector<ReplayProgress> list_replays(Session& session, const ListFilter& filter) {
  std::vector<ReplayProgress> result;
  for (const auto& row :
       session.query(filtered_replays, filter.entity, filter.entity, filter.webhook, filter.webhook,
                     filter.state, filter.state, filter.since, filter.since, filter.limit))
    result.push_back(read_replay(row));
  return result;
}

ListedReplays read_replay_page(Session& session, EntityId entity, unsigned limit,
                               std::optional<ReplayId> before) {
  const auto newest = before.value_or(std::numeric_limits<std::int64_t>::max());
  ListedReplays page;
  for (const auto& row : session.query(page_of_replays, entity, newest, limit + 1))
    page.replays.push_back(read_progress(row));
  if (page.replays.size() > limit) {
    page.replays.pop_back();
    page.next = page.replays.back().replay.id;
  }
  return page;
}

std::optional<WebhookId> webhook_of_replay(Session& session, ReplayId id) {
  const auto rows = session.query(webhook_by_replay, id);
  if (rows.empty()) return std::nullopt;
  return rows.front().integer("webhook_id");
}

}  // namespace store
