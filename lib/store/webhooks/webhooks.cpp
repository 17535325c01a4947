#include "store/webhooks/webhooks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "store/session/batches.hpp"
#include "store/session/rows_by_key.hpp"

namespace store {

namespace {

#define WEBHOOK_COLUMNS                                                        \
  "w.id, w.entidad_id, w.url, w.eventos, w.activo, w.motivo, " STORE_EPOCH_MS( \
      "w.fecha_alta") ", " STORE_EPOCH_MS("x.ultima_ejecucion") ", x.ultimo_estado, x.ultimo_error"

/// Reads WEBHOOK_COLUMNS that start at column `first`.
Webhook read_webhook(const Row& row, std::size_t first = 0) {
  return {row.integer(first),
          row.integer(first + 1),
          row.text(first + 2),
          webhook::EventSet::from_joined(row.text(first + 3)),
          row.boolean(first + 4),
          row.optional_text(first + 5),
          row.time(first + 6),
          row.optional_time(first + 7),
          row.optional_integer(first + 8),
          row.optional_text(first + 9).value_or("")};
}

/// The lowest of the five slots that is free; nullopt when none is.
std::optional<int> free_slot(Session& session, EntityId entity) {
  const auto taken =
      session.query("SELECT plaza FROM webhooks WHERE entidad_id = ? AND plaza IS NOT NULL", entity);
  for (int slot = 1; slot <= 5; ++slot) {
    if (std::ranges::none_of(taken, [&](const Row& row) { return row.integer(0) == slot; })) return slot;
  }
  return std::nullopt;
}

std::optional<Webhook> insert_into_slot(Session& session, const NewWebhook& webhook,
                                        const webhook::KeyRing& keys) {
  const auto slot = free_slot(session, webhook.entity);
  if (!slot) return std::nullopt;
  session.update("INSERT INTO webhooks (entidad_id, plaza, url, eventos) VALUES (?, ?, ?, ?)", webhook.entity,
                 *slot, webhook.url, webhook.events.joined());
  const WebhookId id = session.last_insert_id();
  if (webhook.secret) {
    // Sealed after the INSERT, in the same transaction: the seal is bound to the id.
    const auto sealed = keys.seal(id, *webhook.secret);
    session.update("UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?) WHERE id = ?",
                   sealed.key_id, webhook::crypto::to_hex(sealed.ciphertext), id);
  }
  return find_webhook(session, id);
}

}  // namespace

std::vector<std::optional<Caller>> find_callers(Session& session, std::span<const TokenHash> hashes) {
  std::vector<Parameter> keys;
  keys.reserve(hashes.size());
  for (const auto& hash : hashes) keys.emplace_back(webhook::crypto::to_hex(hash));
  // STRAIGHT_JOIN and the index: by hash, however small the tables.
  const auto rows = query_list(
      session,
      "SELECT STRAIGHT_JOIN t.hash, e.id, e.nombre, " WEBHOOK_COLUMNS
      " FROM tokens_acceso t FORCE INDEX (tokens_autenticar) JOIN entidades e ON e.id = t.entidad_id"
      " LEFT JOIN webhooks w ON w.entidad_id = e.id AND w.plaza IS NOT NULL"
      " LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id"
      " WHERE t.revocado IS NULL AND (t.caduca IS NULL OR t.caduca > UTC_TIMESTAMP(3)) AND e.activa"
      " AND t.hash IN",
      "UNHEX(?)", keys, "");
  std::map<std::string_view, Caller> found;  // by the hash's bytes
  for (const auto& row : rows) {
    Caller& caller = found.try_emplace(row.text(0), Caller{row.integer(1), row.text(2), {}}).first->second;
    if (!row.null(3)) caller.webhooks.push_back(read_webhook(row, 3));
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

std::optional<Caller> find_caller(Session& session, const TokenHash& token_hash) {
  return std::move(find_callers(session, std::span(&token_hash, 1)).front());
}

std::optional<Webhook> create_webhook(Session& session, const NewWebhook& webhook,
                                      const webhook::KeyRing& keys) {
  for (;;) {
    try {
      return transaction(session, [&] { return insert_into_slot(session, webhook, keys); });
    } catch (const DuplicateKey&) {
      // Another request took the slot meanwhile. It ends: with five of them taken there is none to try for.
    }
  }
}

bool delete_webhook(Session& session, EntityId entity, WebhookId id) {
  return transaction(session, [&] {
    return session.update(
               "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3), secreto_clave = NULL, "
               "secreto_sellado = NULL"
               " WHERE id = ? AND entidad_id = ? AND plaza IS NOT NULL",
               id, entity) == 1;
  });
}

std::vector<Webhook> list_webhooks(Session& session, const ListFilter& filter) {
  std::vector<Webhook> result;
  for (const auto& row : session.query(
           "SELECT * FROM (SELECT " WEBHOOK_COLUMNS
           " FROM webhooks w LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id WHERE w.plaza IS NOT NULL"
           " AND (? IS NULL OR w.entidad_id = ?) AND (? IS NULL OR w.id = ?) AND (? IS NULL OR w.fecha_alta "
           ">= ?)"
           " ORDER BY w.id DESC LIMIT ?) newest ORDER BY id",
           filter.entity, filter.entity, filter.webhook, filter.webhook, filter.since, filter.since,
           filter.limit)) {
    result.push_back(read_webhook(row));
  }
  return result;
}

std::optional<Webhook> find_webhook(Session& session, WebhookId id) {
  const auto rows = session.query("SELECT " WEBHOOK_COLUMNS
                                  " FROM webhooks w LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id"
                                  " WHERE w.id = ? AND w.plaza IS NOT NULL",
                                  id);
  if (rows.empty()) return std::nullopt;
  return read_webhook(rows.front());
}

bool disable_webhook(Session& session, WebhookId id, std::string_view reason) {
  session.update(
      "UPDATE webhooks SET activo = FALSE, motivo = ? WHERE id = ? AND activo AND plaza IS NOT NULL", reason,
      id);
  return !session.query("SELECT 1 FROM webhooks WHERE id = ? AND plaza IS NOT NULL", id).empty();
}

namespace {

/// One state at a time, in the order of its index: both at once would be sorted, and locked, to the last for
/// each batch.
std::uint64_t cancel_waiting(Session& session, WebhookId id, std::string_view state) {
  return in_batches(session, [&] {
    return session.update(
        "UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3)"
        " WHERE espera = ? AND webhook_id = ? ORDER BY proximo_intento, id LIMIT ?",
        state, id, batch_rows);
  });
}

}  // namespace

std::optional<EnableResult> enable_webhook(Session& session, WebhookId id, bool discard) {
  if (!find_webhook(session, id)) return std::nullopt;
  EnableResult result;
  // Before it is enabled, or the dispatcher could claim them first.
  if (discard)
    result.cancelled = cancel_waiting(session, id, "retenida") + cancel_waiting(session, id, "pendiente");
  transaction(session, [&] {
    session.update("UPDATE webhooks SET activo = TRUE, motivo = NULL WHERE id = ? AND plaza IS NOT NULL", id);
    session.update(
        "UPDATE webhook_ejecuciones SET fallos = 0, fallos_desde = NULL, sondeo = FALSE, descansa_hasta = "
        "NULL"
        " WHERE webhook_id = ?",
        id);
  });
  result.released = in_batches(session, [&] {
    return session.update(
        "UPDATE entregas SET estado = 'pendiente', proximo_intento = UTC_TIMESTAMP(3)"
        " WHERE espera = 'retenida' AND webhook_id = ? ORDER BY proximo_intento, id LIMIT ?",
        id, batch_rows);
  });
  return result;
}

}  // namespace store
