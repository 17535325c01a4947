#include "lib/store/webhooks/webhooks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "lib/json/json.hpp"
#include "lib/store/cancelled.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/disabled_urls.hpp"
#include "lib/store/webhooks/secret_change.hpp"
#include "lib/store/webhooks/slots.hpp"
#include "lib/webhook/event_names.hpp"

namespace store {

namespace {

// Deleted webhooks stay for weeks, in any number, with `plaza` NULL. An entity's webhooks are found by a
// range of `plaza`. In a join they are found by one value of `plaza` after the other, because there MySQL
// does not use a range for the seek.

/// The hints force a seek by hash, even in small tables.
constexpr std::string_view select_callers = R"sql(
  SELECT STRAIGHT_JOIN t.hash, t.id AS token_id, t.solo_lectura, e.id AS entidad_id,
    e.nombre AS entidad_nombre)sql";
constexpr std::string_view and_webhooks = R"sql(, w.id, w.nombre, w.url, w.eventos, w.activo, w.motivo,
    CAST(w.fecha_alta AS CHAR) AS fecha_alta, CAST(x.ultima_ejecucion AS CHAR) AS ultima_ejecucion,
    x.ultimo_estado, x.ultimo_error)sql";
constexpr std::string_view from_tokens = R"sql(
  FROM tokens_acceso t FORCE INDEX (tokens_autenticar)
  JOIN entidades e ON e.id = t.entidad_id)sql";
constexpr std::string_view left_join = R"sql(
  LEFT JOIN ()sql";
constexpr std::string_view join_webhooks = R"sql(plazas
             STRAIGHT_JOIN webhooks w FORCE INDEX (webhooks_cinco_por_entidad))
    ON w.entidad_id = e.id AND w.plaza = plazas.plaza
  LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id)sql";
constexpr std::string_view of_tokens = R"sql(
  WHERE t.revocado IS NULL AND (t.caduca IS NULL OR t.caduca > UTC_TIMESTAMP(3)) AND e.activa
    AND t.hash IN)sql";
constexpr auto callers_alone = joined<select_callers, from_tokens, of_tokens>;
/// Returns, for each token, a row for each webhook of its entity, or one row if the entity has no webhook.
constexpr auto callers_with_webhooks =
    joined<select_callers, and_webhooks, from_tokens, left_join, every_slot, join_webhooks, of_tokens>;

// The newest webhooks that match a filter, oldest first.

constexpr std::string_view filtered_webhooks = R"sql(
  SELECT * FROM (
    SELECT w.id, w.entidad_id, w.nombre, w.url, w.eventos, w.activo, w.motivo, CAST(w.fecha_alta AS CHAR) AS fecha_alta,
      CAST(x.ultima_ejecucion AS CHAR) AS ultima_ejecucion, x.ultimo_estado, x.ultimo_error
    FROM webhooks w FORCE INDEX (PRIMARY) LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
    WHERE w.plaza IS NOT NULL AND (? IS NULL OR w.id = ?) AND (? IS NULL OR w.fecha_alta >= ?)
    ORDER BY w.id DESC LIMIT ?) newest
  ORDER BY id)sql";
constexpr std::string_view newest_of_entity = R"sql(
  SELECT * FROM (
    SELECT w.id, w.entidad_id, w.nombre, w.url, w.eventos, w.activo, w.motivo, CAST(w.fecha_alta AS CHAR) AS fecha_alta,
      CAST(x.ultima_ejecucion AS CHAR) AS ultima_ejecucion, x.ultimo_estado, x.ultimo_error
    FROM webhooks w FORCE INDEX (webhooks_cinco_por_entidad)
    LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
    WHERE w.entidad_id = ? AND w.plaza)sql";
constexpr std::string_view if_they_fit = R"sql(AND (? IS NULL OR w.id = ?)
      AND (? IS NULL OR w.fecha_alta >= ?)
    ORDER BY w.id DESC LIMIT ?) newest
  ORDER BY id)sql";
constexpr auto filtered_webhooks_of_entity = joined<newest_of_entity, slot_in_range, if_they_fit>;
constexpr std::string_view webhook_by_id = R"sql(
  SELECT w.id, w.entidad_id, w.nombre, w.url, w.eventos, w.activo, w.motivo, CAST(w.fecha_alta AS CHAR) AS fecha_alta,
    CAST(x.ultima_ejecucion AS CHAR) AS ultima_ejecucion, x.ultimo_estado, x.ultimo_error
  FROM webhooks w LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ? AND w.plaza IS NOT NULL)sql";
constexpr std::string_view id_and_date_of_inserted = R"sql(
  SELECT id, CAST(fecha_alta AS CHAR) AS fecha_alta FROM webhooks WHERE id = LAST_INSERT_ID())sql";

constexpr std::string_view slots_of_entity = R"sql(
  SELECT plaza, NULL AS url FROM webhooks FORCE INDEX (webhooks_cinco_por_entidad)
  WHERE entidad_id = ? AND plaza)sql";
/// The URLs that the operator has disabled, in the same round trip.
constexpr std::string_view and_disabled_urls = R"sql(
  UNION ALL
  SELECT NULL, url FROM urls_desactivadas WHERE entidad_id = ?)sql";
constexpr auto taken_slots = joined<slots_of_entity, slot_in_range, and_disabled_urls>;
constexpr std::string_view insert_webhook = R"sql(
  INSERT INTO webhooks (entidad_id, plaza, url, eventos, nombre) VALUES (?, ?, ?, ?, ?))sql";
constexpr std::string_view set_secret = R"sql(
  UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?), secreto_huella = ?,
    secreto_inverificable = ? WHERE id = ?)sql";
constexpr std::string_view free_slot_and_forget_secret = R"sql(
  UPDATE webhooks
  SET plaza = NULL, nombre = NULL, fecha_baja = UTC_TIMESTAMP(3), secreto_clave = NULL, secreto_sellado = NULL,
    secreto_b_clave = NULL, secreto_b_sellado = NULL, secreto_huella = NULL, secreto_inverificable = NULL,
    version_secreto = NULL, version_huella = NULL, secreto_anterior_hasta = NULL
  WHERE id = ? AND entidad_id = ? AND plaza IS NOT NULL)sql";

constexpr std::string_view webhook_with_name = R"sql(
  SELECT 1 FROM webhooks FORCE INDEX (webhooks_cinco_por_entidad)
  WHERE entidad_id = ? AND plaza BETWEEN 1 AND 5 AND nombre = ? AND id <> ?)sql";

/// Sets `desactivado_en` first, because it depends on the former `motivo`.
constexpr std::string_view disable = R"sql(
  UPDATE webhooks
  SET desactivado_en = IF(motivo <=> 'operador', desactivado_en, UTC_TIMESTAMP(3)), activo = FALSE, motivo = ?
  WHERE id = ? AND (activo OR ? = 'operador') AND plaza IS NOT NULL)sql";
constexpr std::string_view webhook_exists = R"sql(
  SELECT 1 FROM webhooks WHERE id = ? AND plaza IS NOT NULL)sql";

constexpr std::string_view enable = R"sql(
  UPDATE webhooks SET activo = TRUE, motivo = NULL, desactivado_en = NULL WHERE id = ? AND plaza IS NOT NULL)sql";
constexpr std::string_view forget_failures = R"sql(
  UPDATE webhook_ejecuciones
  SET fallos = 0, fallos_desde = NULL, sondeo = FALSE, descansa_hasta = NULL
  WHERE webhook_id = ?)sql";
// Without the hint, if most deliveries of a webhook are held, MariaDB would read, lock and sort all of them
// for each batch.
constexpr std::string_view release_some_held = R"sql(
  UPDATE entregas FORCE INDEX (entregas_por_reclamar)
  SET estado = 'pendiente', proximo_intento = UTC_TIMESTAMP(3), prevista = NULL
  WHERE espera = 'retenida' AND webhook_id = ? ORDER BY proximo_intento, id LIMIT ?)sql";
/// Finds the deliveries of one `espera` (`pendiente` or `retenida`), in the order of the index: a statement
/// for both would sort and lock all rows for each batch.
constexpr std::string_view that_wait = " WHERE espera = ? AND webhook_id = ?";
constexpr std::string_view in_order = " ORDER BY proximo_intento, id LIMIT ?";
constexpr std::string_view some_waiting = joined<that_wait, in_order>;
constexpr std::string_view select_count = R"sql(
  SELECT COUNT(*) AS contadas FROM entregas FORCE INDEX (entregas_por_reclamar))sql";
constexpr std::string_view count_waiting = joined<select_count, that_wait>;

struct Room {
  std::optional<int> slot;    // the lowest free `plaza`
  bool url_disabled = false;  // the operator has disabled the URL for the entity
};
Room find_room(Session& session, EntityId entity, std::string_view url) {
  Room room;
  std::vector<std::string> disabled;
  std::array<bool, 5> taken{};
  for (const auto& row : session.query(taken_slots, entity, entity)) {
    if (const auto slot = row.optional_integer("plaza"))
      taken.at(static_cast<std::size_t>(*slot - 1)) = true;
    else
      disabled.push_back(row.text("url"));
  }
  const auto free = std::ranges::find(taken, false);
  if (free != taken.end()) room.slot = static_cast<int>(free - taken.begin()) + 1;
  room.url_disabled = is_disabled(disabled, url);
  return room;
}

/// The new webhook is inactive if the operator has disabled its URL.
Webhook insert_into_room(Session& session, const NewWebhook& wanted, const Room& room,
                         const webhook::KeyRing& keys) {
  session.update(insert_webhook, wanted.entity, room.slot.value(), wanted.url, wanted.events.joined(),
                 wanted.name);
  const auto row = session.query(id_and_date_of_inserted).at(0);
  Webhook made{.id = row.integer("id"),
               .entity = wanted.entity,
               .url = wanted.url,
               .events = wanted.events,
               .created = row.time("fecha_alta"),
               .name = wanted.name};
  json::Object detail{{"url", audited_url(made.url)}, {"eventos", webhook::event_names(made.events)}};
  if (made.name) detail.emplace_back("nombre", *made.name);
  if (room.url_disabled) {
    session.update(disable, disabled_by_operator, made.id, disabled_by_operator);
    made.active = false;
    made.inactive_reason = disabled_by_operator;
    detail.emplace_back("motivo", made.inactive_reason);
  }
  if (wanted.secret) {
    // Sealed after the INSERT, in the same transaction: the seal is bound to the id, which the INSERT
    // assigns.
    const auto stored = stored_secret(keys, made.id, *wanted.secret);
    session.update(set_secret, stored.key_id, stored.sealed, stored.fingerprint, stored.unverifiable,
                   made.id);
  }
  note_change(session, {wanted.entity, wanted.token}, AuditedAction::registered, made.id,
              json::dump(std::move(detail)));
  return made;
}

}  // namespace

Webhook read_webhook(const Row& row) {
  return {row.integer("id"),
          row.integer("entidad_id"),
          row.text("url"),
          webhook::EventSet::from_joined(row.text("eventos")),
          row.boolean("activo"),
          row.optional_text("motivo"),
          row.time("fecha_alta"),
          row.optional_time("ultima_ejecucion"),
          row.optional_integer("ultimo_estado"),
          row.optional_text("ultimo_error").value_or(""),
          row.optional_text("nombre")};
}

std::vector<std::optional<Caller>> find_callers(Session& session, std::span<const TokenHash> hashes,
                                                CallerWith with) {
  const bool and_webhooks_too = with == CallerWith::webhooks;
  std::vector<Parameter> keys;
  keys.reserve(hashes.size());
  for (const auto& hash : hashes) keys.emplace_back(crypto::to_hex(hash));
  const auto rows =
      query_list(session, and_webhooks_too ? callers_with_webhooks : callers_alone, "UNHEX(?)", keys, "");
  std::map<std::string, Caller> found;  // by the bytes of the hash
  for (const auto& row : rows) {
    Caller& caller = found
                         .try_emplace(row.text("hash"), Caller{row.integer("entidad_id"),
                                                               row.text("entidad_nombre"),
                                                               {},
                                                               row.integer("token_id"),
                                                               row.boolean("solo_lectura")})
                         .first->second;
    if (and_webhooks_too && !row.null("id")) caller.webhooks.push_back(read_webhook(row));
  }
  for (auto& [key, caller] : found) std::ranges::sort(caller.webhooks, {}, &Webhook::id);
  std::vector<std::optional<Caller>> result;
  result.reserve(hashes.size());
  for (const auto& hash : hashes) {
    const auto caller = found.find(std::string(hash.begin(), hash.end()));
    result.push_back(caller == found.end() ? std::nullopt : std::optional(caller->second));
  }
  return result;
}

std::optional<Caller> find_caller(Session& session, const TokenHash& token_hash, CallerWith with) {
  return std::move(find_callers(session, std::span(&token_hash, 1), with).front());
}

Registered create_webhook(Session& session, const NewWebhook& webhook, const webhook::KeyRing& keys,
                          unsigned max_per_hour, const std::optional<IdempotentRequest>& request) {
  // DuplicateKey means that another request took the `plaza` or the name first. The transaction then runs
  // again. If all five are taken by then, find_room() finds no slot.
  return transaction_past_duplicates(session, [&]() -> Registered {
    // With a `request` the quotas are locked even without a limit: otherwise another request with the same
    // key could commit after find_earlier() has found none.
    if (request || max_per_hour > 0) lock_quotas(session, webhook.entity);
    if (request)
      if (auto earlier = find_earlier(session, *request, keys)) return {{}, std::move(earlier)};
    const auto room = find_room(session, webhook.entity, webhook.url);
    if (!room.slot) return {};
    if (webhook.name && is_name_taken(session, webhook.entity, *webhook.name, 0)) return {{}, {}, true};
    use_quota(session, Quota::registrations, webhook.entity, max_per_hour);
    auto made = insert_into_room(session, webhook, room, keys);
    if (request) remember_request(session, *request, keys, made.id, request->answer(made));
    return {std::move(made), {}};
  });
}

bool delete_webhook(Session& session, const Author& author, WebhookId id) {
  return transaction(session, [&] { return remove_webhook(session, author, id); });
}

bool remove_webhook(Session& session, const Author& author, WebhookId id) {
  if (session.update(free_slot_and_forget_secret, id, author.entity) != 1) return false;
  note_change(session, author, AuditedAction::deleted, id, "{}");
  return true;
}

bool is_name_taken(Session& session, EntityId entity, std::string_view name, WebhookId except) {
  return !session.query(webhook_with_name, entity, name, except).empty();
}

std::vector<Webhook> list_webhooks(Session& session, const ListFilter& filter) {
  const auto rows = filter.entity ? session.query(filtered_webhooks_of_entity, *filter.entity, filter.webhook,
                                                  filter.webhook, filter.since, filter.since, filter.limit)
                                  : session.query(filtered_webhooks, filter.webhook, filter.webhook,
                                                  filter.since, filter.since, filter.limit);
  std::vector<Webhook> result;
  result.reserve(rows.size());
  for (const auto& row : rows) result.push_back(read_webhook(row));
  return result;
}

std::optional<Webhook> find_webhook(Session& session, WebhookId id) {
  const auto rows = session.query(webhook_by_id, id);
  if (rows.empty()) return std::nullopt;
  return read_webhook(rows.front());
}

bool disable_webhook(Session& session, WebhookId id, std::string_view reason) {
  transaction(session, [&] {
    session.update(disable, reason, id, reason);
    if (reason == disabled_by_operator) note_disabled_url(session, id);
  });
  return !session.query(webhook_exists, id).empty();
}

std::optional<EnableResult> enable_webhook(Session& session, WebhookId id, bool discard) {
  if (!find_webhook(session, id)) return std::nullopt;
  EnableResult result;
  const auto cancel = [&](std::string_view state) {
    const auto statement =
        "UPDATE entregas FORCE INDEX (entregas_por_reclamar) SET " + ends_cancelled().append(some_waiting);
    return in_batches(session, [&] { return session.update(statement, state, id, batch_rows); });
  };
  // Cancels before the webhook is enabled, because the dispatcher could claim the deliveries afterwards.
  // Until then the dispatcher may make pending deliveries `retenida` (if the webhook is inactive) or held
  // ones `pendiente` (if it is active). Cancelling `pendiente` both before and after `retenida` finds them
  // all.
  if (discard) {
    for (const auto* state : {"pendiente", "retenida", "pendiente"}) result.cancelled += cancel(state);
  }
  transaction(session, [&] {
    session.update(enable, id);
    // Read only now, when the UPDATE has locked the row: until then the entity could change the URL.
    if (const auto webhook = find_webhook(session, id))
      lift_disabled_url(session, webhook->entity, webhook->url);
    session.update(forget_failures, id);
  });
  result.released = in_batches(session, [&] { return session.update(release_some_held, id, batch_rows); });
  return result;
}

EnableResult preview_enable_webhook(Session& session, WebhookId id, bool discard) {
  const auto count = [&](std::string_view state) {
    return session.query(count_waiting, state, id).at(0).unsigned_integer("contadas");
  };
  const auto held = count("retenida");
  return discard ? EnableResult{.cancelled = held + count("pendiente")} : EnableResult{.released = held};
}

}  // namespace store
