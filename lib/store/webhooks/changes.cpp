#include "lib/store/webhooks/changes.hpp"

#include <string_view>
#include <utility>

#include "lib/crypto/crypto.hpp"
#include "lib/json/json.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/webhooks/disabled_urls.hpp"
#include "lib/webhook/event_names.hpp"
#include "lib/webhook/target_url.hpp"

namespace store {

namespace {

constexpr std::string_view detail_of_webhook = R"sql(
  SELECT w.id, w.entidad_id, w.nombre, w.url, w.eventos, w.activo, w.motivo, CAST(w.fecha_alta AS CHAR) AS fecha_alta,
    CAST(x.ultima_ejecucion AS CHAR) AS ultima_ejecucion, x.ultimo_estado, x.ultimo_error,
    CAST(x.certificado_caduca AS CHAR) AS certificado_caduca, IF(w.activo, NULL, CAST(w.desactivado_en AS CHAR)) AS inactivo_desde,
    COALESCE(w.secreto_clave, w.secreto_b_clave) IS NOT NULL AS tiene_secreto,
    COALESCE(w.secreto_debil, FALSE) AS secreto_debil,
    COALESCE(w.secreto_inverificable, FALSE) AS secreto_inverificable,
    IF(w.secreto_anterior_hasta > UTC_TIMESTAMP(3), CAST(w.secreto_anterior_hasta AS CHAR), NULL) AS anterior_hasta,
    CAST(w.fecha_modificacion AS CHAR) AS fecha_modificacion,
    IF(w.version_huella = w.secreto_huella, w.version_secreto, w.secreto_huella) AS version_secreto
  FROM webhooks w LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ? AND w.entidad_id = ? AND w.plaza IS NOT NULL)sql";
constexpr std::string_view lock_webhook = R"sql(
  SELECT id FROM webhooks WHERE id = ? AND entidad_id = ? AND plaza IS NOT NULL FOR UPDATE)sql";
constexpr std::string_view update_webhook = R"sql(
  UPDATE webhooks
  SET nombre = ?, url = ?, eventos = COALESCE(?, eventos),
    desactivado_en = CASE WHEN ? THEN NULL WHEN activo THEN UTC_TIMESTAMP(3) ELSE desactivado_en END,
    activo = ?, motivo = ?, fecha_modificacion = UTC_TIMESTAMP(3)
  WHERE id = ?)sql";
constexpr std::string_view ask_dispatcher = R"sql(
  INSERT INTO cambios_webhook (webhook_id, adelantar) VALUES (?, ?)
  ON DUPLICATE KEY UPDATE adelantar = adelantar OR VALUES(adelantar), avance = 0)sql";

/// The webhook after the change.
Webhook changed(Webhook webhook, const WebhookChange& change) {
  if (change.url) webhook.url = *change.url;
  if (change.events) webhook.events = *change.events;
  if (change.name) webhook.name = *change.name;
  if (change.active && *change.active != webhook.active) {
    webhook.active = *change.active;
    webhook.inactive_reason = webhook.active ? std::nullopt : std::optional<std::string>(disabled_by_entity);
  }
  return webhook;
}

/// The changed fields for the audit, before and after. `ended`: the failure streak that the change ends.
json::Object difference(const Webhook& before, const Webhook& after,
                        const std::optional<FailureStreak>& ended) {
  json::Object result;
  const auto add = [&](const char* field, json::Value was, json::Value is) {
    if (!(was == is))
      result.emplace_back(field, json::Object{{"antes", std::move(was)}, {"ahora", std::move(is)}});
  };
  add("url", audited_url(before.url), audited_url(after.url));
  add("eventos", webhook::event_names(before.events), webhook::event_names(after.events));
  add("activo", before.active, after.active);
  add("nombre", before.name, after.name);
  if (ended) add("fallaDesde", platform::format_iso8601(ended->since), {});
  return result;
}

void write_change(Session& session, const Author& author, const Webhook& before, const Webhook& after,
                  const json::Object& difference, bool ends_streak) {
  const bool another_url = after.url != before.url;
  // Unchanged events are not written: the row may have an event that only a newer release of this program
  // knows.
  const auto events = after.events == before.events ? std::nullopt : std::optional(after.events.joined());
  // A change that only ends the streak does not update the row: the update would set `fecha_modificacion` and
  // so change version_of(), although the configuration is the same.
  if (difference.size() > (ends_streak ? 1U : 0U))
    session.update(update_webhook, after.name, after.url, events, after.active, after.active,
                   after.inactive_reason, after.id);
  if (another_url || ends_streak || (after.active && !before.active))
    session.update(ask_dispatcher, after.id, another_url);
  note_change(session, author, AuditedAction::changed, after.id, json::dump(difference));
}

/// Whether the change moves the webhook to a URL that the operator has disabled, or activates it there. A
/// webhook that already sends there may continue.
bool leads_to_disabled_url(Session& session, const Webhook& before, const WebhookChange& change) {
  if (before.inactive_reason == disabled_by_operator) return false;  // the webhook stays disabled
  const bool moves =
      change.url && webhook::comparable_url(*change.url) != webhook::comparable_url(before.url);
  const bool activates = change.active.value_or(false) && !before.active;
  return (moves || activates) && is_disabled_url(session, before.entity, change.url.value_or(before.url));
}

ChangedWebhook as_it_is(Session& session, EntityId entity, WebhookId id,
                        platform::Milliseconds disable_after) {
  auto now = find_detail(session, entity, id);
  if (!now) return {WebhookChanged::not_found};
  return {WebhookChanged::done, std::move(now), find_failure_streak(session, id, disable_after)};
}

/// Requires a transaction.
ChangedWebhook change_locked(Session& session, const Author& author, WebhookId id,
                             const WebhookChange& change, const Expected& expected,
                             const ChangePolicy& policy) {
  if (!change.empty() && policy.max_per_hour > 0) lock_quotas(session, author.entity);
  session.query(lock_webhook, id, author.entity);
  const auto found = find_detail(session, author.entity, id);
  if (!found) return {WebhookChanged::not_found};
  const auto& before = found->webhook;
  if (change.active.value_or(false) && before.inactive_reason == disabled_by_operator)
    return {WebhookChanged::operator_disabled};
  if (leads_to_disabled_url(session, before, change)) return {WebhookChanged::url_disabled};
  if (change.name && *change.name && is_name_taken(session, author.entity, **change.name, id))
    return {WebhookChanged::name_taken};
  if (!expected(*found)) return {WebhookChanged::precondition_failed};
  const auto after = changed(before, change);
  const auto ended =
      change.active.value_or(false) && before.active ? find_failure_streak(session, id, {}) : std::nullopt;
  const auto difference_ = difference(before, after, ended);
  if (!difference_.empty()) {
    use_quota(session, Quota::changes, author.entity, policy.max_per_hour);
    write_change(session, author, before, after, difference_, ended.has_value());
  }
  return as_it_is(session, author.entity, id, policy.disable_after);
}

}  // namespace

std::optional<WebhookDetail> find_detail(Session& session, EntityId entity, WebhookId id) {
  const auto rows = session.query(detail_of_webhook, id, entity);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  return WebhookDetail{read_webhook(row),
                       row.boolean("tiene_secreto"),
                       row.boolean("secreto_debil"),
                       row.boolean("secreto_inverificable"),
                       row.optional_time("fecha_modificacion"),
                       row.optional_time("anterior_hasta"),
                       row.optional_time("inactivo_desde"),
                       row.optional_time("certificado_caduca"),
                       row.optional_text("version_secreto")};
}

std::string version_of(const WebhookDetail& detail) {
  const auto& webhook = detail.webhook;
  constexpr std::size_t digits = 32;
  // A line end separates the fields, because none of them contains one. The secret's version is
  // included, because two changes within a millisecond have the same `modified`.
  const std::string configuration =
      to_string(webhook.id) + '\n' + webhook.url + '\n' + webhook.events.joined() + '\n' +
      (webhook.active ? "activo" : webhook.inactive_reason.value_or("")) + '\n' +
      (detail.has_secret ? "secreto" : "") + '\n' + detail.secret_version.value_or("") + '\n' +
      (detail.modified ? platform::format_iso8601(*detail.modified) : "") +
      (webhook.name ? '\n' + *webhook.name : "");
  return crypto::to_hex(crypto::sha256(configuration)).substr(0, digits);
}

ChangedWebhook change_webhook(Session& session, const Author& author, WebhookId id,
                              const WebhookChange& change, const Expected& expected,
                              const ChangePolicy& policy) {
  // DuplicateKey means that another request took the name first; by the next try the name is seen.
  return transaction_past_duplicates(
      session, [&] { return change_locked(session, author, id, change, expected, policy); });
}

WebhookChanged delete_expected_webhook(Session& session, const Author& author, WebhookId id,
                                       const Expected& expected) {
  return transaction(session, [&] {
    session.query(lock_webhook, id, author.entity);
    const auto found = find_detail(session, author.entity, id);
    if (!found) return WebhookChanged::not_found;
    if (!expected(*found)) return WebhookChanged::precondition_failed;
    return remove_webhook(session, author, id) ? WebhookChanged::done : WebhookChanged::not_found;
  });
}

}  // namespace store
