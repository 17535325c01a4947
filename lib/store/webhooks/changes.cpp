#include "store/webhooks/changes.hpp"

#include <string_view>
#include <utility>

#include "store/webhooks/registration_quota.hpp"
#include "webhook/json.hpp"

namespace store {

namespace {

namespace json = webhook::json;

constexpr std::string_view detail_of_webhook = R"sql(
  SELECT w.id, w.entidad_id, w.url, w.eventos, w.activo, w.motivo, CAST(w.fecha_alta AS CHAR) AS fecha_alta,
    CAST(x.ultima_ejecucion AS CHAR) AS ultima_ejecucion, x.ultimo_estado, x.ultimo_error,
    COALESCE(w.secreto_clave, w.secreto_b_clave) IS NOT NULL AS tiene_secreto,
    IF(w.secreto_anterior_hasta > UTC_TIMESTAMP(3), CAST(w.secreto_anterior_hasta AS CHAR), NULL) AS anterior_hasta,
    CAST(w.fecha_modificacion AS CHAR) AS fecha_modificacion
  FROM webhooks w LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ? AND w.entidad_id = ? AND w.plaza IS NOT NULL)sql";
constexpr std::string_view lock_webhook = R"sql(
  SELECT id FROM webhooks WHERE id = ? AND entidad_id = ? AND plaza IS NOT NULL FOR UPDATE)sql";
constexpr std::string_view update_webhook = R"sql(
  UPDATE webhooks SET url = ?, eventos = ?, activo = ?, motivo = ?, fecha_modificacion = UTC_TIMESTAMP(3)
  WHERE id = ?)sql";
constexpr std::string_view ask_dispatcher = R"sql(
  INSERT INTO cambios_webhook (webhook_id, adelantar) VALUES (?, ?)
  ON DUPLICATE KEY UPDATE adelantar = adelantar OR VALUES(adelantar), avance = 0)sql";

json::Array names(const webhook::EventSet& events) {
  json::Array result;
  for (const auto event : events.events()) result.emplace_back(name(event));
  return result;
}

/// The webhook as it will be.
Webhook changed(Webhook webhook, const WebhookChange& change) {
  if (change.url) webhook.url = *change.url;
  if (change.events) webhook.events = *change.events;
  if (change.active && *change.active != webhook.active) {
    webhook.active = *change.active;
    webhook.inactive_reason = webhook.active ? std::nullopt : std::optional<std::string>(disabled_by_entity);
  }
  return webhook;
}

/// For the audit: what differs, before and after.
json::Object difference(const Webhook& before, const Webhook& after) {
  json::Object result;
  const auto add = [&](const char* field, json::Value was, json::Value is) {
    if (!(was == is))
      result.emplace_back(field, json::Object{{"antes", std::move(was)}, {"ahora", std::move(is)}});
  };
  add("url", before.url, after.url);
  add("eventos", names(before.events), names(after.events));
  add("activo", before.active, after.active);
  return result;
}

void write_change(Session& session, const Author& author, const Webhook& before, const Webhook& after) {
  const auto difference_ = difference(before, after);
  if (difference_.empty()) return;
  session.update(update_webhook, after.url, after.events.joined(), after.active, after.inactive_reason,
                 after.id);
  const bool another_url = after.url != before.url;
  if (another_url || (after.active && !before.active)) session.update(ask_dispatcher, after.id, another_url);
  note_change(session, author, AuditedAction::changed, after.id, json::dump(difference_));
}

struct Turned {
  WebhookChanged result;
  std::optional<unsigned> retry_after_s{};
};

Turned change_in_turn(Session& session, const Author& author, WebhookId id, const WebhookChange& change,
                      const std::function<bool(const WebhookDetail&)>& expected, unsigned max_per_hour) {
  // Before anything else is locked (registration_quota.hpp).
  const auto turn = !change.empty() && max_per_hour > 0
                        ? std::optional(take_registration_turn(session, author.entity))
                        : std::nullopt;
  session.query(lock_webhook, id, author.entity);
  const auto found = find_detail(session, author.entity, id);
  if (!found) return {WebhookChanged::not_found};
  const auto& before = found->webhook;
  if (change.active.value_or(false) && before.inactive_reason == disabled_by_operator)
    return {WebhookChanged::operator_disabled};
  if (!expected(*found)) return {WebhookChanged::unexpected};
  const auto after = changed(before, change);
  if (turn && !difference(before, after).empty()) {
    if (const auto wait = turn->wait_s(max_per_hour)) return {WebhookChanged::done, wait};
    count_registration(session, author.entity, max_per_hour);
  }
  write_change(session, author, before, after);
  return {WebhookChanged::done};
}

}  // namespace

std::optional<WebhookDetail> find_detail(Session& session, EntityId entity, WebhookId id) {
  const auto rows = session.query(detail_of_webhook, id, entity);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  return WebhookDetail{read_webhook(row), row.boolean("tiene_secreto"),
                       row.optional_time("fecha_modificacion"), row.optional_time("anterior_hasta")};
}

WebhookChanged change_webhook(Session& session, const Author& author, WebhookId id,
                              const WebhookChange& change,
                              const std::function<bool(const WebhookDetail&)>& expected,
                              unsigned max_per_hour) {
  const auto turned = transaction(
      session, [&] { return change_in_turn(session, author, id, change, expected, max_per_hour); });
  if (turned.retry_after_s) throw TooManyRegistrations(*turned.retry_after_s);
  return turned.result;
}

}  // namespace store
