#include "store/deliveries/delivery_log.hpp"

#include <algorithm>
#include <limits>

namespace store {

namespace {

constexpr unsigned looked_at = 2000;

/// The newest, whatever they are.
constexpr std::string_view newest_of_log = R"sql(
  SELECT e.id, n.evento, n.origen = 'prueba' AS prueba, IF(e.entregada_en IS NULL, e.estado, 'entregada') AS estado,
    e.intentos, CAST(e.creada_en AS CHAR) AS creada_en,
    CAST(IF(e.estado = 'entregada', COALESCE(e.entregada_en, e.terminada_en), e.entregada_en) AS CHAR) AS entregada,
    CAST(COALESCE(e.terminada_en, e.entregada_en) AS CHAR) AS terminada,
    IF(e.estado = 'pendiente' AND e.entregada_en IS NULL, CAST(e.proximo_intento AS CHAR), NULL) AS proximo_intento,
    e.ultimo_estado, e.ultimo_error
  FROM entregas e FORCE INDEX (entregas_de_webhook)
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  WHERE e.webhook_id = ? AND e.id < ? ORDER BY e.id DESC LIMIT ?)sql";

/// Within the page's rows by id, the newest first: whatever is asked of them costs what so many rows cost.
constexpr std::string_view page_of_log = R"sql(
  SELECT e.id, n.evento, n.origen = 'prueba' AS prueba, IF(e.entregada_en IS NULL, e.estado, 'entregada') AS estado,
    e.intentos, CAST(e.creada_en AS CHAR) AS creada_en,
    CAST(IF(e.estado = 'entregada', COALESCE(e.entregada_en, e.terminada_en), e.entregada_en) AS CHAR) AS entregada,
    CAST(COALESCE(e.terminada_en, e.entregada_en) AS CHAR) AS terminada,
    IF(e.estado = 'pendiente' AND e.entregada_en IS NULL, CAST(e.proximo_intento AS CHAR), NULL) AS proximo_intento,
    e.ultimo_estado, e.ultimo_error
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
        WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  WHERE (? IS NULL OR IF(e.entregada_en IS NULL, e.estado, 'entregada') = ?) AND (? IS NULL OR n.evento = ?)
    AND (? IS NULL OR e.creada_en >= ?) AND (? IS NULL OR e.creada_en < ?)
  ORDER BY e.id DESC LIMIT ?)sql";
/// How far such a page has looked; whether all of it is too old, by so much that nothing after it can be
/// newer.
constexpr std::string_view end_of_page = R"sql(
  SELECT MIN(e.id) AS ultima, COUNT(*) AS miradas, MAX(e.creada_en) < ? - INTERVAL 1 DAY AS antiguas
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
        WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id)sql";

constexpr std::string_view evidence_of_delivery = R"sql(
  SELECT e.id, n.evento, n.origen = 'prueba' AS prueba, IF(e.entregada_en IS NULL, e.estado, 'entregada') AS estado,
    e.intentos, CAST(e.creada_en AS CHAR) AS creada_en,
    CAST(IF(e.estado = 'entregada', COALESCE(e.entregada_en, e.terminada_en), e.entregada_en) AS CHAR) AS entregada,
    CAST(COALESCE(e.terminada_en, e.entregada_en) AS CHAR) AS terminada,
    IF(e.estado = 'pendiente' AND e.entregada_en IS NULL, CAST(e.proximo_intento AS CHAR), NULL) AS proximo_intento,
    e.ultimo_estado, e.ultimo_error, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en, n.datos
  FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.id = ? AND e.webhook_id = ?)sql";

LoggedDelivery read_logged(const Row& row) {
  return {row.integer("id"),
          row.text("evento"),
          row.boolean("prueba"),
          row.text("estado"),
          row.integer("intentos"),
          row.time("creada_en"),
          row.optional_time("entregada"),
          row.optional_time("terminada"),
          row.optional_time("proximo_intento"),
          row.optional_integer("ultimo_estado"),
          row.text("ultimo_error")};
}

}  // namespace

LogPage read_log_page(Session& session, WebhookId webhook, const LogFilter& asked, unsigned limit,
                      std::optional<DeliveryId> before) {
  auto filter = asked;
  // Years before those of every server's calendar: MySQL refuses to compare a DATETIME with 0000-02-29.
  for (auto* time : {&filter.since, &filter.until})
    if (*time) *time = std::max(**time, UtcTime{});
  const bool narrowed = filter.state || filter.event || filter.since || filter.until;
  const auto older_than = before.value_or(std::numeric_limits<DeliveryId>::max());
  LogPage page;
  const auto rows = narrowed ? session.query(page_of_log, webhook, older_than, looked_at, filter.state,
                                             filter.state, filter.event, filter.event, filter.since,
                                             filter.since, filter.until, filter.until, limit + 1)
                             : session.query(newest_of_log, webhook, older_than, limit + 1);
  page.deliveries.reserve(rows.size());
  for (const auto& row : rows) page.deliveries.push_back(read_logged(row));
  if (page.deliveries.size() > limit) {
    page.deliveries.pop_back();
    page.next = page.deliveries.back().id;
  } else if (narrowed) {
    const auto looked = session.query(end_of_page, filter.since, webhook, older_than, looked_at);
    const auto& end = looked.at(0);
    const bool more =
        end.integer("miradas") == looked_at && (end.null("antiguas") || !end.boolean("antiguas"));
    if (more) page.next = end.integer("ultima");
  }
  return page;
}

std::optional<LoggedEvidence> find_evidence(Session& session, WebhookId webhook, DeliveryId delivery) {
  const auto rows = session.query(evidence_of_delivery, delivery, webhook);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  return LoggedEvidence{read_logged(row), row.time("ocurrida_en"), row.text("datos"),
                        list_attempts(session, delivery)};
}

}  // namespace store
