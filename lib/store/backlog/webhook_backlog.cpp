#include "lib/store/backlog/webhook_backlog.hpp"

#include <algorithm>

namespace store {

namespace {

/// The median duration reads the webhook's newest deliveries, at most this many, and then at most this many
/// of their attempts.
constexpr unsigned latest = 100;

constexpr std::string_view state_of_webhook = R"sql(
  SELECT t.activa, COALESCE(x.sondeo, FALSE) AS sondeo,
    IF(x.descansa_hasta > UTC_TIMESTAMP(3), CAST(x.descansa_hasta AS CHAR), NULL) AS descansa,
    CAST(x.adelantar_en AS CHAR) AS adelantar,
    IF(w.secreto_vigente = 'b', COALESCE(w.secreto_b_clave, w.secreto_clave), w.secreto_clave) AS clave,
    CAST(UTC_TIMESTAMP(3) AS CHAR) AS ahora, (SELECT CAST(hora AS CHAR) FROM reloj_visto WHERE id = 1) AS visto
  FROM webhooks w JOIN entidades t ON t.id = w.entidad_id
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ? AND w.plaza IS NOT NULL)sql";

/// Counts three ranges of the index; each count stops at a limit.
constexpr std::string_view counts_of_webhook = R"sql(
  SELECT
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento <= ? LIMIT ?) c) AS vencidas,
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento > ? LIMIT ?) c) AS futuras,
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'retenida' AND webhook_id = ? LIMIT ?) c) AS retenidas)sql";
/// An urgent delivery has a `proximo_intento` an hour before its creation.
constexpr std::string_view first_due = R"sql(
  SELECT CAST(GREATEST(proximo_intento, creada_en) AS CHAR) AS intento FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento <= ? ORDER BY proximo_intento LIMIT 1)sql";
constexpr std::string_view first_later = R"sql(
  SELECT CAST(proximo_intento AS CHAR) AS intento FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento > ? ORDER BY proximo_intento LIMIT 1)sql";
constexpr std::string_view latest_durations = R"sql(
  SELECT i.duracion_ms
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook) WHERE webhook_id = ? ORDER BY id DESC LIMIT ?) v
  STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = v.id LIMIT ?)sql";
constexpr std::string_view in_flight = R"sql(
  SELECT e.webhook_id, w.url FROM entregas e FORCE INDEX (entregas_arriendos_vencidos)
  STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = e.webhook_id
  WHERE e.arriendo_hasta > '1970-01-01' LIMIT ?)sql";

std::optional<UtcTime> first_time(Session& session, std::string_view sql, WebhookId id, UtcTime now) {
  const auto rows = session.query(sql, id, now);
  return rows.empty() ? std::nullopt : std::optional(rows.front().time("intento"));
}

std::optional<std::int64_t> median_duration(Session& session, WebhookId id) {
  std::vector<std::int64_t> durations;
  for (const auto& row : session.query(latest_durations, id, latest, latest))
    durations.push_back(row.integer("duracion_ms"));
  if (durations.empty()) return std::nullopt;
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  return *middle;
}

}  // namespace

std::optional<WebhookBacklog> find_backlog(Session& session, WebhookId id) {
  const auto states = session.query(state_of_webhook, id);
  if (states.empty()) return std::nullopt;
  const auto& state = states.front();
  const auto now = state.time("ahora");
  constexpr auto limit = WebhookBacklog::most_counted;
  const auto counted = session.query(counts_of_webhook, id, now, limit, id, now, limit, id, limit);
  const auto& counts = counted.front();
  return WebhookBacklog{state.boolean("activa"),
                        state.boolean("sondeo"),
                        state.optional_time("descansa"),
                        state.optional_time("adelantar"),
                        state.optional_text("clave"),
                        counts.integer("vencidas"),
                        counts.integer("futuras"),
                        counts.integer("retenidas"),
                        first_time(session, first_due, id, now),
                        first_time(session, first_later, id, now),
                        now,
                        state.time("visto"),
                        median_duration(session, id)};
}

std::vector<InFlight> list_in_flight(Session& session) {
  std::vector<InFlight> result;
  for (const auto& row : session.query(in_flight, WebhookBacklog::most_counted))
    result.push_back({row.integer("webhook_id"), row.text("url")});
  return result;
}

}  // namespace store
