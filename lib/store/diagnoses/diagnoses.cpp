#include "lib/store/diagnoses/diagnoses.hpp"

#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr std::string_view state_of_webhook = R"sql(
  SELECT activo, motivo FROM webhooks WHERE id = ? AND plaza IS NOT NULL)sql";
/// A lease does not count if `iniciado_en` is more than a minute ahead: the clock has been set back.
constexpr std::string_view state_of_diagnosis = R"sql(
  SELECT estado, CAST(iniciado_en AS CHAR) AS iniciado_en, COALESCE(pruebas, '') AS pruebas,
    COALESCE(arriendo_hasta >= UTC_TIMESTAMP(3) AND iniciado_en <= UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE, FALSE)
      AS arrendado
  FROM diagnosticos WHERE webhook_id = ?)sql";
constexpr std::string_view ask_again = R"sql(
  UPDATE diagnosticos
  SET estado = 'pendiente', entidad_nombre = ?, pedido_en = UTC_TIMESTAMP(3), iniciado_en = NULL, arriendo = NULL,
    arriendo_hasta = NULL, pruebas = NULL
  WHERE webhook_id = ?)sql";
constexpr std::string_view ask_first = R"sql(
  INSERT INTO diagnosticos (webhook_id, entidad_id, entidad_nombre) VALUES (?, ?, ?))sql";

// `diagnosticable`: an inactive webhook may be diagnosed too, unless the operator disabled it.
constexpr std::string_view and_state_of_diagnosis = R"sql(, d.entidad_nombre, w.eventos,
    COALESCE(w.secreto_debil, FALSE) AS secreto_debil,
    w.plaza IS NOT NULL AND t.activa AND (w.activo OR COALESCE(w.motivo, '') <> 'operador') AS diagnosticable,
    d.pedido_en < UTC_TIMESTAMP(3) - INTERVAL 1 HOUR AS caducado
  FROM diagnosticos d )sql";
constexpr std::string_view by_state = "FORCE INDEX (diagnosticos_por_hacer)";  // without the hint MySQL sorts
constexpr std::string_view target_rows = R"sql(
  STRAIGHT_JOIN webhooks w ON w.id = d.webhook_id STRAIGHT_JOIN entidades t ON t.id = w.entidad_id)sql";
constexpr std::string_view that_wait =
    " WHERE d.estado = 'pendiente' AND d.webhook_id > ? ORDER BY d.webhook_id LIMIT ?";
constexpr std::string_view of_webhook = " WHERE d.webhook_id = ?";
constexpr std::string_view waiting_targets =
    joined<select_target, and_state_of_diagnosis, by_state, target_rows, that_wait>;
constexpr std::string_view target_of_webhook =
    joined<select_target, and_state_of_diagnosis, target_rows, of_webhook>;

/// The dispatcher's statements skip a row that another session has locked.
constexpr std::string_view lock_row = R"sql(
  SELECT webhook_id FROM diagnosticos WHERE webhook_id = ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view claim = R"sql(
  UPDATE diagnosticos
  SET estado = 'en_curso', iniciado_en = UTC_TIMESTAMP(3), arriendo = ?,
    arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
  WHERE webhook_id = ? AND estado = 'pendiente')sql";
/// The new end is at least 1 ms later than the old one. Otherwise a renewal in the millisecond of the claim
/// would change nothing, and report 0 affected rows, as for a lost lease.
constexpr std::string_view renew = R"sql(
  UPDATE diagnosticos
  SET arriendo_hasta =
    GREATEST(UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, arriendo_hasta + INTERVAL 1000 MICROSECOND)
  WHERE webhook_id = ? AND arriendo = ? AND arriendo_hasta >= UTC_TIMESTAMP(3))sql";
constexpr std::string_view release = R"sql(
  UPDATE diagnosticos SET estado = 'pendiente', iniciado_en = NULL, arriendo = NULL, arriendo_hasta = NULL
  WHERE webhook_id = ? AND arriendo = ?)sql";
constexpr std::string_view finish = R"sql(
  UPDATE diagnosticos SET estado = ?, pruebas = ?, arriendo = NULL, arriendo_hasta = NULL
  WHERE webhook_id = ? AND arriendo = ?)sql";
constexpr std::string_view fail_asked = R"sql(
  UPDATE diagnosticos SET estado = 'fallido', iniciado_en = UTC_TIMESTAMP(3), pruebas = ?
  WHERE webhook_id = ? AND estado = 'pendiente')sql";

constexpr std::string_view lock_old = R"sql(
  SELECT webhook_id AS id FROM diagnosticos WHERE pedido_en < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
  ORDER BY pedido_en LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view forget_locked = R"sql(
  DELETE d FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN diagnosticos d FORCE INDEX (PRIMARY) ON d.webhook_id = j.id)sql";

/// Whether the diagnosis is `en_curso` without a valid lease.
bool is_lost(const Row& row) { return row.text("estado") == "en_curso" && !row.boolean("arrendado"); }

template <class... Parameters>
DiagnosisUpdate update_if_free(Session& session, WebhookId webhook, std::string_view update,
                               const Parameters&... parameters) {
  using enum DiagnosisUpdate;
  return transaction(session, [&] {
    if (!session.query(lock_row, webhook).empty())
      return session.update(update, parameters...) == 1 ? done : lost;
    return session.query(state_of_diagnosis, webhook).empty() ? lost : locked;
  });
}

/// Requires a transaction.
AskedDiagnosis ask_locked(Session& session, const Author& author, std::string_view entity_name,
                          WebhookId webhook, unsigned max_per_hour, bool noted) {
  lock_quotas(session, author.entity);
  const auto webhooks = session.query(state_of_webhook, webhook);
  if (webhooks.empty()) return {DiagnosisAsked::not_found};
  if (!webhooks.front().boolean("activo") && webhooks.front().optional_text("motivo") == "operador")
    return {DiagnosisAsked::disabled};
  const auto last = session.query(state_of_diagnosis, webhook);
  if (!last.empty()) {
    auto state = last.front().text("estado");
    if (state == "pendiente" || (state == "en_curso" && !is_lost(last.front())))
      return {DiagnosisAsked::done, std::move(state)};
  }
  use_quota(session, Quota::diagnostics, author.entity, max_per_hour);
  if (last.empty())
    session.update(ask_first, webhook, author.entity, entity_name);
  else
    session.update(ask_again, entity_name, webhook);
  if (noted) note_change(session, author, AuditedAction::diagnosed, webhook, "{}", "diagnosis");
  return {DiagnosisAsked::done, "pendiente"};
}

DiagnosisTarget read(const Row& row) {
  const auto events = webhook::EventSet::from_joined(row.text("eventos")).events();
  return {read_target(row),
          row.integer("entidad_id"),
          row.text("entidad_nombre"),
          events.empty() ? std::nullopt : std::optional(events.front()),
          row.boolean("diagnosticable"),
          row.boolean("secreto_debil"),
          row.boolean("caducado")};
}

}  // namespace

AskedDiagnosis ask_diagnosis(Session& session, const Author& author, std::string_view entity_name,
                             WebhookId webhook, unsigned max_per_hour, bool noted) {
  return transaction(session,
                     [&] { return ask_locked(session, author, entity_name, webhook, max_per_hour, noted); });
}

std::optional<Diagnosis> find_diagnosis(Session& session, WebhookId webhook) {
  const auto rows = session.query(state_of_diagnosis, webhook);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  return Diagnosis{is_lost(row) ? "fallido" : row.text("estado"), row.optional_time("iniciado_en"),
                   row.text("pruebas")};
}

std::vector<DiagnosisTarget> find_asked_diagnoses(Session& session, WebhookId after, unsigned limit) {
  std::vector<DiagnosisTarget> result;
  for (const auto& row : session.query(waiting_targets, after, limit)) result.push_back(read(row));
  return result;
}

DiagnosisUpdate claim_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                platform::Milliseconds length) {
  return update_if_free(session, webhook, claim, lease, microseconds(length), webhook);
}

DiagnosisUpdate renew_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                platform::Milliseconds length) {
  return update_if_free(session, webhook, renew, microseconds(length), webhook, lease);
}

std::optional<DiagnosisTarget> find_diagnosis_target(Session& session, WebhookId webhook) {
  const auto rows = session.query(target_of_webhook, webhook);
  return rows.empty() ? std::nullopt : std::optional(read(rows.front()));
}

DiagnosisUpdate release_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease) {
  return update_if_free(session, webhook, release, webhook, lease);
}

DiagnosisUpdate finish_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                 std::string_view state, std::string_view findings) {
  return update_if_free(session, webhook, finish, state, findings, webhook, lease);
}

void fail_asked_diagnosis(Session& session, WebhookId webhook, std::string_view findings) {
  update_if_free(session, webhook, fail_asked, findings, webhook);
}

std::uint64_t forget_old_diagnoses(Session& session, platform::Milliseconds kept) {
  return transaction(session, [&]() -> std::uint64_t {
    const auto ids = ids_in(session.query(lock_old, microseconds(kept), batch_rows));
    return ids.empty() ? 0 : session.update(forget_locked, json_ids(ids));
  });
}

}  // namespace store
