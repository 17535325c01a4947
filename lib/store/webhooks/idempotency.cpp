#include "lib/store/webhooks/idempotency.hpp"

#include <set>

#include "lib/json/json.hpp"
#include "lib/store/session/batches.hpp"

namespace store {

namespace {

constexpr std::string_view purpose = "idempotency";

constexpr std::string_view earlier_request = R"sql(
  SELECT c.cuerpo_clave, c.cuerpo_huella, c.respuesta,
    c.creada_en <= UTC_TIMESTAMP(3) - INTERVAL 24 HOUR AS antigua,
    (SELECT w.id FROM webhooks w WHERE w.id = c.webhook_id AND w.plaza IS NOT NULL) IS NULL AS eliminado
  FROM claves_idempotencia c FORCE INDEX (PRIMARY)
  WHERE c.entidad_id = ? AND c.clave = ?)sql";
constexpr std::string_view forget_one = "DELETE FROM claves_idempotencia WHERE entidad_id = ? AND clave = ?";
constexpr std::string_view remember = R"sql(
  INSERT INTO claves_idempotencia (entidad_id, clave, webhook_id, cuerpo_clave, cuerpo_huella, respuesta)
  VALUES (?, ?, ?, ?, ?, ?))sql";

// The dispatcher may read only `creada_en` of claves_idempotencia, so the next two statements find and delete
// rows by that column.

constexpr std::string_view lock_old = R"sql(
  SELECT CAST(creada_en AS CHAR) AS creada FROM claves_idempotencia FORCE INDEX (claves_idempotencia_por_hora)
  WHERE creada_en <= UTC_TIMESTAMP(3) - INTERVAL 24 HOUR ORDER BY creada_en LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view forget_of_times = R"sql(
  DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (creada DATETIME(3) PATH '$')) j
  STRAIGHT_JOIN claves_idempotencia c FORCE INDEX (claves_idempotencia_por_hora) ON c.creada_en = j.creada)sql";

/// Returns the text that the HMAC covers. The text has the entity and the key besides the body, so that equal
/// bodies do not have equal HMACs. A key has no blank, so the text is unambiguous.
std::string authenticated(const IdempotentRequest& request) {
  return to_string(request.entity) + ' ' + std::string(request.key) + ' ' + std::string(request.body);
}

}  // namespace

std::optional<EarlierRequest> find_earlier(Session& session, const IdempotentRequest& request,
                                           const webhook::KeyRing& keys) {
  const auto rows = session.query(earlier_request, request.entity, request.key);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  if (row.boolean("antigua")) {  // maintenance has not deleted it yet
    session.update(forget_one, request.entity, request.key);
    return std::nullopt;
  }
  if (row.boolean("eliminado")) return EarlierRequest{EarlierResult::webhook_deleted, {}};
  if (!keys.has(row.text("cuerpo_clave"))) return EarlierRequest{EarlierResult::cannot_tell, {}};
  if (!keys.is_authentic(purpose, authenticated(request), row.text("cuerpo_huella")))
    return EarlierRequest{EarlierResult::another_body, {}};
  return EarlierRequest{EarlierResult::same, row.text("respuesta")};
}

void remember_request(Session& session, const IdempotentRequest& request, const webhook::KeyRing& keys,
                      WebhookId registered, std::string_view answer) {
  session.update(remember, request.entity, request.key, registered, keys.current_id(),
                 keys.authenticate(purpose, authenticated(request)), answer);
}

std::uint64_t forget_old_requests(Session& session) {
  return transaction(session, [&]() -> std::uint64_t {
    std::set<std::string> times;
    for (const auto& row : session.query(lock_old, batch_rows)) times.insert(row.text("creada"));
    if (times.empty()) return 0;
    return session.update(forget_of_times, json::dump(json::Array(times.begin(), times.end())));
  });
}

}  // namespace store
