#include "lib/store/webhooks/secrets.hpp"

#include <map>

#include "lib/crypto/crypto.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/secret_change.hpp"
#include "lib/webhook/sealed_data.hpp"

namespace store {

namespace {

using crypto::from_hex;

// Each of the next three statements returns at most 100 rows, of at most 100 KiB each.

/// Selects the webhooks with a secret to reseal in the columns of secret `a` (secret_change.hpp): a secret
/// that is not sealed by the current key, or the webhook's current secret if it has no fingerprint or is not
/// judged (secreto_inverificable): earlier releases did neither.
constexpr std::string_view outdated_secrets = R"sql(
  SELECT id, secreto_clave AS clave, HEX(secreto_sellado) AS sellado FROM webhooks
  WHERE id > ? AND secreto_clave IS NOT NULL
    AND (secreto_clave <> ?
      OR ((secreto_huella IS NULL OR secreto_inverificable IS NULL)
        AND (secreto_vigente = 'a' OR secreto_b_clave IS NULL)))
  ORDER BY id LIMIT 100)sql";
constexpr std::string_view outdated_b_secrets = R"sql(
  SELECT id, secreto_b_clave AS clave, HEX(secreto_b_sellado) AS sellado FROM webhooks
  WHERE id > ? AND secreto_b_clave IS NOT NULL
    AND (secreto_b_clave <> ? OR (secreto_inverificable IS NULL AND secreto_vigente = 'b'))
  ORDER BY id LIMIT 100)sql";
constexpr std::string_view outdated_test_events = R"sql(
  SELECT id, entidad_id, evento, datos FROM notificaciones_pendientes
  WHERE id > ? AND origen = 'prueba' AND JSON_VALUE(datos, '$.clave') <> ? ORDER BY id LIMIT 100)sql";

// The next three statements update only what has not changed since it was read.
//
// If the resealed secret is the webhook's current one, the statement also replaces the secret's fingerprint
// (`secreto_huella`), because the operator will remove the key that made the old fingerprint. The webhook's
// ETag must stay the same. If `version_huella` equals `secreto_huella`, the ETag is made from
// `version_secreto`; otherwise it is made from `secreto_huella`. Assignments are evaluated from left to
// right: first `version_secreto` gets the value from which the ETag is made now, then `secreto_huella` gets
// the new fingerprint, and then `version_huella` gets the new fingerprint, too.
constexpr std::string_view replace_secret = R"sql(
  UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?),
    version_secreto = IF(secreto_vigente = 'b' AND secreto_b_clave IS NOT NULL, version_secreto,
      IF(version_huella = secreto_huella, version_secreto, COALESCE(secreto_huella, ''))),
    secreto_huella = IF(secreto_vigente = 'b' AND secreto_b_clave IS NOT NULL, secreto_huella, ?),
    version_huella = IF(secreto_vigente = 'b' AND secreto_b_clave IS NOT NULL, version_huella, secreto_huella),
    secreto_inverificable = IF(secreto_vigente = 'b' AND secreto_b_clave IS NOT NULL, secreto_inverificable, ?)
  WHERE id = ? AND secreto_sellado = UNHEX(?))sql";
constexpr std::string_view replace_b_secret = R"sql(
  UPDATE webhooks SET secreto_b_clave = ?, secreto_b_sellado = UNHEX(?),
    version_secreto = IF(secreto_vigente = 'a', version_secreto,
      IF(version_huella = secreto_huella, version_secreto, COALESCE(secreto_huella, ''))),
    secreto_huella = IF(secreto_vigente = 'a', secreto_huella, ?),
    version_huella = IF(secreto_vigente = 'a', version_huella, secreto_huella),
    secreto_inverificable = IF(secreto_vigente = 'a', secreto_inverificable, ?)
  WHERE id = ? AND secreto_b_sellado = UNHEX(?))sql";
constexpr std::string_view replace_test_data = R"sql(
  UPDATE notificaciones_pendientes SET datos = ? WHERE id = ? AND datos = ?)sql";

constexpr std::string_view secrets_by_key = R"sql(
  SELECT clave, COUNT(*) AS total FROM (
    SELECT secreto_clave AS clave FROM webhooks WHERE secreto_clave IS NOT NULL
    UNION ALL SELECT secreto_b_clave FROM webhooks WHERE secreto_b_clave IS NOT NULL) t
  GROUP BY clave)sql";
constexpr std::string_view test_events_by_key = R"sql(
  SELECT JSON_VALUE(datos, '$.clave') AS clave, COUNT(*) AS total FROM notificaciones_pendientes
  WHERE origen = 'prueba' GROUP BY 1 HAVING clave IS NOT NULL)sql";

/// Returns false when the secret cannot be opened.
template <const std::string_view& replace>
bool reseal_secret(Session& session, const Row& row, const webhook::KeyRing& keys, ReencryptResult& result) {
  const WebhookId id = row.integer("id");
  const auto& sealed = row.text("sellado");
  const auto secret = keys.open(id, {row.text("clave"), from_hex(sealed).value()});
  if (!secret) return false;
  const auto resealed = stored_secret(keys, id, *secret);
  result.secrets += transaction(session, [&] {
    return session.update(replace, resealed.key_id, resealed.sealed, resealed.fingerprint,
                          resealed.unverifiable, id, sealed);
  });
  return true;
}

bool reseal_test_event(Session& session, const Row& row, const webhook::KeyRing& keys,
                       ReencryptResult& result) {
  const EntityId entity = row.integer("entidad_id");
  const auto event = webhook::find_event(row.text("evento"));
  const auto& sealed = row.text("datos");
  const auto data = event ? webhook::open_test_data(keys, entity, *event, sealed) : std::nullopt;
  if (!data) return false;
  const auto resealed = webhook::seal_test_data(keys, entity, *event, *data);
  result.test_events += transaction(
      session, [&] { return session.update(replace_test_data, resealed, row.integer("id"), sealed); });
  return true;
}

using Reseal = bool (*)(Session&, const Row&, const webhook::KeyRing&, ReencryptResult&);

/// `kind`: what the rows are, for the message about a refused row.
void walk(Session& session, const webhook::KeyRing& keys, std::string_view kind, std::string_view outdated,
          Reseal reseal, ReencryptResult& result) {
  std::int64_t after = 0;
  for (auto rows = session.query(outdated, after, keys.current_id()); !rows.empty();
       rows = session.query(outdated, after, keys.current_id())) {
    for (const auto& row : rows) {
      after = row.integer("id");
      try {
        if (!reseal(session, row, keys, result)) ++result.unreadable;
      } catch (const Refused& error) {  // the other rows are still tried
        ++result.refused;
        result.refusal = std::string(kind) + ' ' + std::to_string(after) + ": " + error.what();
      }
    }
  }
}

}  // namespace

std::vector<SealedByKey> sealed_by_key(Session& session) {
  std::map<std::string, SealedByKey> found;
  for (const auto& row : session.query(secrets_by_key))
    found[row.text("clave")].webhooks = row.integer("total");
  for (const auto& row : session.query(test_events_by_key))
    found[row.text("clave")].test_events = row.integer("total");
  std::vector<SealedByKey> result;
  for (auto& [key, sealed] : found) {
    sealed.key_id = key;
    result.push_back(sealed);
  }
  return result;
}

ReencryptResult reencrypt(Session& session, const webhook::KeyRing& keys) {
  ReencryptResult result;
  walk(session, keys, "webhook", outdated_secrets, reseal_secret<replace_secret>, result);
  walk(session, keys, "webhook", outdated_b_secrets, reseal_secret<replace_b_secret>, result);
  walk(session, keys, "notification", outdated_test_events, reseal_test_event, result);
  return result;
}

}  // namespace store
