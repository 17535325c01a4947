#include "lib/store/notices/facts.hpp"

#include <algorithm>
#include <string_view>

#include "lib/contacts/codes.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/webhook/target_url.hpp"

namespace store {

namespace {

constexpr std::string_view contacts_after = R"sql(
  SELECT c.id, c.entidad_id, c.correo, c.avisos, c.confirmado_en IS NOT NULL AS confirmado
  FROM contactos c FORCE INDEX (contactos_cinco_por_entidad) STRAIGHT_JOIN entidades t ON t.id = c.entidad_id
  WHERE c.entidad_id > ? AND t.activa AND c.rechazado_en IS NULL
  ORDER BY c.entidad_id, c.plaza LIMIT ?)sql";

/// A notice tells of a code if its `episodio` is the time at which the code was asked for.
constexpr std::string_view waiting_codes = R"sql(
  SELECT c.id, c.entidad_id, CAST(c.codigo_emitido AS CHAR) AS codigo_emitido
  FROM contactos c FORCE INDEX (contactos_por_codigo)
  WHERE c.codigo_emitido > UTC_TIMESTAMP(3) - INTERVAL ? HOUR AND c.confirmado_en IS NULL AND c.rechazado_en IS NULL
    AND NOT EXISTS (SELECT 1 FROM avisos a WHERE a.contacto_id = c.id AND a.tipo = 'codigo'
                    AND a.episodio = CONVERT(CAST(c.codigo_emitido AS CHAR) USING ascii) COLLATE ascii_bin)
  ORDER BY c.codigo_emitido LIMIT ?)sql";

constexpr std::string_view webhooks_columns = R"sql(
  SELECT w.id, w.entidad_id, w.nombre, w.url, w.activo, w.motivo, CAST(w.desactivado_en AS CHAR) AS desactivado_en,
    IF(w.secreto_anterior_hasta > UTC_TIMESTAMP(3), CAST(w.secreto_anterior_hasta AS CHAR), NULL) AS anterior_hasta,
    CAST(w.fecha_modificacion AS CHAR) AS fecha_modificacion, CAST(x.certificado_caduca AS CHAR) AS certificado_caduca, x.ultimo_error,
    IF(x.ultimo_error = '', CAST(x.ultima_ejecucion AS CHAR), NULL) AS funciono,
    CAST(x.fallos_desde AS CHAR) AS fallos_desde,
    COALESCE(x.fallos > 0 AND NOT EXISTS (SELECT 1 FROM cambios_webhook c WHERE c.webhook_id = w.id) AND )sql";
constexpr std::string_view from_webhooks = R"sql(, FALSE) AS falla, x.fallos
  FROM webhooks w FORCE INDEX (webhooks_cinco_por_entidad)
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.plaza BETWEEN 1 AND 5 AND w.entidad_id IN)sql";
constexpr std::string_view webhooks_of = joined<webhooks_columns, streak_goes_on, from_webhooks>;

constexpr std::string_view tokens_of = R"sql(
  SELECT id, entidad_id, etiqueta, CAST(fecha_alta AS CHAR) AS fecha_alta, CAST(caduca AS CHAR) AS caduca
  FROM tokens_acceso FORCE INDEX (tokens_de_entidad) WHERE entidad_id IN)sql";
constexpr std::string_view that_end =
    "AND revocado IS NULL AND caduca > UTC_TIMESTAMP(3) AND caduca <= UTC_TIMESTAMP(3) + INTERVAL ";

constexpr std::string_view told_of = R"sql(
  SELECT a.contacto_id, a.webhook_id, MAX(a.id) AS id, CAST(MAX(a.creado_en) AS CHAR) AS creado_en
  FROM avisos a FORCE INDEX (avisos_de_webhook)
  WHERE a.tipo IN ('fallo', 'desactivacion_proxima', 'desactivado') AND a.estado = 'enviado' AND a.webhook_id IN)sql";
constexpr std::string_view not_ended = R"sql(
    AND NOT EXISTS (SELECT 1 FROM avisos r WHERE r.webhook_id = a.webhook_id AND r.tipo = 'recuperado'
                    AND r.contacto_id = a.contacto_id AND r.id > a.id)
  GROUP BY a.contacto_id, a.webhook_id)sql";

/// A delivery that becomes `fallida` was due shortly before that: a day covers an outage and a pause.
/// Not EXISTS: a server may make that a join that reads every such delivery.
constexpr std::string_view with_failed = R"sql(
  SELECT w.id FROM webhooks w
  WHERE (SELECT 1 FROM entregas e FORCE INDEX (entregas_por_reclamar)
         WHERE e.espera = 'fallida' AND e.webhook_id = w.id AND e.proximo_intento >= UTC_TIMESTAMP(3) - INTERVAL 5 DAY
         LIMIT 1) IS NOT NULL
    AND w.id IN)sql";
constexpr std::string_view failed_of_webhook = R"sql(
  SELECT COUNT(*) AS fallidas FROM (
    SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
    WHERE espera = 'fallida' AND webhook_id = ? AND proximo_intento >= ? - INTERVAL 1 DAY
      AND terminada_en >= ? AND terminada_en < ? AND NOT COALESCE(prueba, FALSE) AND entregada_en IS NULL
    LIMIT ?) contadas)sql";

/// Reads the index alone, so test events count too.
constexpr std::string_view waiting_for_webhook = R"sql(
  SELECT COUNT(*) AS esperan FROM (
    (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
     WHERE espera = 'pendiente' AND webhook_id = ? LIMIT ?)
    UNION ALL
    (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
     WHERE espera = 'retenida' AND webhook_id = ? LIMIT ?)) contadas)sql";

constexpr std::string_view clock_is_believed = R"sql(
  SELECT salto_ms = 0 AND hora > UTC_TIMESTAMP(3) - INTERVAL 1 HOUR AND hora < UTC_TIMESTAMP(3) + INTERVAL 10 SECOND AS creido
  FROM reloj_visto WHERE id = 1)sql";

constexpr std::string_view without_contact = R"sql(
  SELECT t.id, t.nombre FROM entidades t
  WHERE t.activa AND EXISTS (SELECT 1 FROM webhooks w WHERE w.entidad_id = t.id AND w.plaza BETWEEN 1 AND 5)
    AND NOT EXISTS (SELECT 1 FROM contactos c WHERE c.entidad_id = t.id AND c.confirmado_en IS NOT NULL AND c.rechazado_en IS NULL)
  ORDER BY t.id)sql";

constexpr unsigned most_contacts = 5;  // of an entity

WebhookFacts read_facts(const Row& row) {
  WebhookFacts facts{.id = row.integer("id"),
                     .entity = row.integer("entidad_id"),
                     .name = row.optional_text("nombre").value_or(""),
                     .host = webhook::comparable_host(row.text("url")),
                     .active = row.boolean("activo"),
                     .reason = row.optional_text("motivo").value_or(""),
                     .worked_at = row.optional_time("funciono"),
                     .last_error = row.optional_text("ultimo_error").value_or(""),
                     .certificate = row.optional_time("certificado_caduca"),
                     .previous_until = row.optional_time("anterior_hasta"),
                     .changed = row.optional_time("fecha_modificacion").value_or(UtcTime{})};
  if (!facts.active) facts.deactivated = row.optional_time("desactivado_en");
  if (row.boolean("falla")) facts.failing_since = row.optional_time("fallos_desde");
  if (facts.failing_since) facts.failures = row.integer("fallos");
  return facts;
}

}  // namespace

std::vector<NoticeContact> read_contacts_page(Session& session, EntityId after, unsigned limit) {
  std::vector<NoticeContact> page;
  for (const auto& row : session.query(contacts_after, after, limit + most_contacts))
    page.push_back({row.integer("id"), row.integer("entidad_id"), row.text("correo"),
                    contacts::KindSet::from_joined(row.text("avisos")), row.boolean("confirmado")});
  // Beyond `limit`, only the contacts of the entity that `limit` cuts.
  auto end = page.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(page.size(), limit));
  while (end != page.begin() && end != page.end() && end->entity == (end - 1)->entity) ++end;
  page.erase(end, page.end());
  return page;
}

std::vector<WaitingCode> read_waiting_codes(Session& session, unsigned limit) {
  std::vector<WaitingCode> result;
  for (const auto& row : session.query(waiting_codes, std::int64_t{contacts::code_valid.count()}, limit))
    result.push_back({row.integer("id"), row.integer("entidad_id"), row.time("codigo_emitido")});
  return result;
}

std::vector<WebhookFacts> read_webhook_facts(Session& session, const std::vector<EntityId>& entities) {
  std::vector<WebhookFacts> result;
  if (entities.empty()) return result;
  for (const auto& row : query_ids(session, webhooks_of, entities, {})) result.push_back(read_facts(row));
  return result;
}

std::vector<TokenFacts> read_ending_tokens(Session& session, const std::vector<EntityId>& entities,
                                           platform::Milliseconds ahead) {
  std::vector<TokenFacts> result;
  if (entities.empty()) return result;
  const auto within = std::string(that_end) + std::to_string(microseconds(ahead)) + " MICROSECOND";
  for (const auto& row : query_ids(session, tokens_of, entities, within))
    result.push_back({row.integer("id"), row.integer("entidad_id"), row.text("etiqueta"),
                      row.time("fecha_alta"), row.time("caduca")});
  return result;
}

std::vector<ToldFailure> read_told_failures(Session& session, const std::vector<WebhookId>& webhooks) {
  std::vector<ToldFailure> result;
  if (webhooks.empty()) return result;
  for (const auto& row : query_ids(session, told_of, webhooks, not_ended))
    result.push_back(
        {row.integer("contacto_id"), row.integer("webhook_id"), row.integer("id"), row.time("creado_en")});
  return result;
}

std::vector<WebhookId> read_webhooks_with_failed(Session& session, const std::vector<WebhookId>& webhooks) {
  if (webhooks.empty()) return {};
  return ids_in<WebhookId>(query_ids(session, with_failed, webhooks, {}));
}

std::int64_t count_failed(Session& session, WebhookId webhook, UtcTime from, UtcTime until) {
  return session.query(failed_of_webhook, webhook, from, from, until, most_failed_counted)
      .at(0)
      .integer("fallidas");
}

std::int64_t count_waiting(Session& session, WebhookId webhook) {
  constexpr auto limit = most_waiting_counted + 1;
  return session.query(waiting_for_webhook, webhook, limit, webhook, limit).at(0).integer("esperan");
}

NoticeTimes read_notice_times(Session& session) {
  auto outages = read_outages(session, UtcTime{});
  const auto now = outages.now();
  const bool believed = session.query(clock_is_believed).at(0).boolean("creido");
  return {now, std::move(outages), believed && list_running_outages(session).empty()};
}

std::vector<EntityWithoutContact> read_entities_without_contact(Session& session) {
  std::vector<EntityWithoutContact> result;
  for (const auto& row : session.query(without_contact))
    result.push_back({row.integer("id"), row.text("nombre")});
  return result;
}

}  // namespace store
