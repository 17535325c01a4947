#include "lib/store/replays/open_deliveries.hpp"

#include <string_view>
#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr std::int64_t looked_at = 300;

/// `por_intentar` still names the webhook in the rows of some deliveries that are finished: those that ended
/// without an attempt, and those that a dispatcher of an earlier release has recorded. For these the
/// statement also finds the `resultado`, which note_ended then writes.
constexpr std::string_view open_of_webhook = R"sql(
  SELECT r.reenvio_id, r.entrega_id, e.id IS NULL OR e.terminada_en IS NOT NULL AS acabada,
    COALESCE(e.intentos > r.intentos_antes OR e.estado = 'retenida', FALSE) AS intentada,
    CASE WHEN e.estado = 'fallida' THEN 'fallida'
      WHEN e.estado = 'entregada' AND e.intentos > r.intentos_antes AND e.ultimo_estado BETWEEN 200 AND 299
        THEN 'entregada'
      ELSE 'cancelada' END AS resultado
  FROM (SELECT reenvio_id, entrega_id, intentos_antes
        FROM reenvios_entregas FORCE INDEX (reenvios_por_intentar) WHERE por_intentar = ? LIMIT ?) r
  LEFT JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = r.entrega_id)sql";
constexpr std::string_view note_ended = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (replay BIGINT PATH '$[0]', id BIGINT PATH '$[1]',
    outcome VARCHAR(10) PATH '$[2]')) j
  STRAIGHT_JOIN reenvios_entregas r FORCE INDEX (PRIMARY) ON r.reenvio_id = j.replay AND r.entrega_id = j.id
  SET r.resultado = j.outcome, r.por_intentar = NULL
  WHERE r.resultado IS NULL)sql";
constexpr std::string_view note_outcome = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', outcome VARCHAR(10) PATH '$[1]')) j
  STRAIGHT_JOIN reenvios_entregas r FORCE INDEX (reenvios_de_entrega) ON r.entrega_id = j.id
  SET r.resultado = j.outcome, r.por_intentar = NULL
  WHERE r.resultado IS NULL)sql";

constexpr std::string_view ended_of_replay = R"sql(
  SELECT entrega_id, resultado FROM reenvios_entregas FORCE INDEX (PRIMARY)
  WHERE reenvio_id = ? AND resultado IS NOT NULL LIMIT ?)sql";
constexpr std::string_view forget_ended = R"sql(
  DELETE r FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN reenvios_entregas r FORCE INDEX (PRIMARY) ON r.reenvio_id = ? AND r.entrega_id = j.id)sql";
constexpr std::string_view add_ended = R"sql(
  UPDATE reenvios SET recibidas = recibidas + ?, agotadas = agotadas + ? WHERE id = ?)sql";

}  // namespace

OpenDeliveries read_open(Session& session, WebhookId webhook) {
  OpenDeliveries open;
  json::Array ended;
  for (const auto& row : session.query(open_of_webhook, webhook, looked_at)) {
    if (row.boolean("acabada"))
      ended.emplace_back(
          json::Array{row.integer("reenvio_id"), row.integer("entrega_id"), row.text("resultado")});
    else
      ++(row.boolean("intentada") ? open.waiting : open.untried);
  }
  if (!ended.empty()) session.update(without_waiting<note_ended>, json::dump(ended));
  return open;
}

void count_ended(Session& session, ReplayId replay) {
  std::vector<DeliveryId> ids;
  std::int64_t delivered = 0, failed = 0;
  for (const auto& row : session.query(ended_of_replay, replay, batch_rows)) {
    ids.push_back(row.integer("entrega_id"));
    delivered += row.text("resultado") == "entregada" ? 1 : 0;
    failed += row.text("resultado") == "fallida" ? 1 : 0;
  }
  if (ids.empty()) return;
  session.update(forget_ended, json_ids(ids), replay);
  session.update(add_ended, delivered, failed, replay);
}

void note_outcomes(Session& session, std::span<const ReplayOutcome> outcomes) {
  if (outcomes.empty()) return;
  json::Array rows;
  for (const auto& outcome : outcomes)
    rows.emplace_back(json::Array{outcome.delivery, outcome.delivered ? "entregada" : "fallida"});
  session.update(without_waiting<note_outcome>, json::dump(rows));
}

}  // namespace store
