#include "lib/store/webhooks/secret_change.hpp"

#include <vector>

#include "lib/crypto/crypto.hpp"
#include "lib/json/json.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/webhook/signature.hpp"

namespace store {

namespace {

constexpr std::string_view lock_secrets = R"sql(
  SELECT secreto_vigente = 'a' OR secreto_b_clave IS NULL AS en_a,
    COALESCE(secreto_clave, secreto_b_clave) IS NOT NULL AS tiene, secreto_huella,
    IF(secreto_anterior_hasta > UTC_TIMESTAMP(3), CAST(secreto_anterior_hasta AS CHAR), NULL) AS anterior_hasta
  FROM webhooks WHERE id = ? AND entidad_id = ? AND plaza IS NOT NULL FOR UPDATE)sql";

constexpr std::string_view set_a = R"sql(
  UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?), secreto_vigente = 'a', secreto_huella = ?,
    secreto_inverificable = ?, secreto_anterior_hasta = UTC_TIMESTAMP(3) + INTERVAL ? SECOND, fecha_modificacion = UTC_TIMESTAMP(3)
  WHERE id = ?)sql";
constexpr std::string_view set_b = R"sql(
  UPDATE webhooks SET secreto_b_clave = ?, secreto_b_sellado = UNHEX(?), secreto_vigente = 'b', secreto_huella = ?,
    secreto_inverificable = ?, secreto_anterior_hasta = UTC_TIMESTAMP(3) + INTERVAL ? SECOND, fecha_modificacion = UTC_TIMESTAMP(3)
  WHERE id = ?)sql";
constexpr std::string_view erase_b =
    "UPDATE webhooks SET secreto_b_clave = NULL, secreto_b_sellado = NULL WHERE id = ?";
constexpr std::string_view end_grace_now = R"sql(
  UPDATE webhooks SET secreto_anterior_hasta = UTC_TIMESTAMP(3), fecha_modificacion = UTC_TIMESTAMP(3)
  WHERE id = ?)sql";
constexpr std::string_view grace_of = R"sql(
  SELECT CAST(secreto_anterior_hasta AS CHAR) AS hasta FROM webhooks WHERE id = ?)sql";

/// Includes deleted webhooks: an earlier release of the API, which may run during an upgrade, erases only one
/// of the two secrets when it deletes a webhook.
constexpr std::string_view ended_graces = R"sql(
  SELECT id FROM webhooks FORCE INDEX (webhooks_secreto_anterior)
  WHERE secreto_anterior_hasta IS NOT NULL AND (secreto_anterior_hasta <= UTC_TIMESTAMP(3) OR plaza IS NULL)
  LIMIT ?)sql";
constexpr std::string_view webhooks_by_id = "SELECT id FROM webhooks FORCE INDEX (PRIMARY) WHERE id IN";
constexpr std::string_view that_have_ended =
    "AND (secreto_anterior_hasta <= UTC_TIMESTAMP(3) OR plaza IS NULL) FOR UPDATE SKIP LOCKED";
/// Erases both secrets of a deleted webhook. For other webhooks, erases the former secret, and moves the
/// current one to the columns without `_b`: an earlier release of the dispatcher reads only these columns,
/// and would otherwise send unsigned. The database evaluates assignments from left to right, so it reads the
/// `_b` columns before it erases them.
constexpr std::string_view keep_current_in_a = R"sql(
  UPDATE webhooks FORCE INDEX (PRIMARY)
  SET secreto_clave = IF(plaza IS NULL, NULL, IF(secreto_vigente = 'b', COALESCE(secreto_b_clave, secreto_clave), secreto_clave)),
    secreto_sellado = IF(plaza IS NULL, NULL, IF(secreto_vigente = 'b', COALESCE(secreto_b_sellado, secreto_sellado), secreto_sellado)),
    secreto_b_clave = NULL, secreto_b_sellado = NULL, secreto_anterior_hasta = NULL
  WHERE id IN)sql";

constexpr std::string_view purpose = "secret";
std::string fingerprinted(WebhookId id, const std::string& secret) { return to_string(id) + ':' + secret; }

void note(Session& session, const Author& author, WebhookId id, std::int64_t grace_s) {
  note_change(session, author, AuditedAction::secret_changed, id,
              json::dump(json::Object{{"graciaSegundos", grace_s}}));
}

void end_now(Session& session, const Author& author, WebhookId id) {
  session.update(end_grace_now, id);
  note(session, author, id, 0);
}

SecretChange set_again(Session& session, const Author& author, WebhookId id, const Row& now, bool at_once) {
  const auto until = now.optional_time("anterior_hasta");
  if (!until || !at_once) return {SecretChanged::done, until};
  end_now(session, author, id);
  return {SecretChanged::done, {}};
}

SecretChange set_another(Session& session, WebhookId id, const Row& now, const NewSecret& wanted,
                         const webhook::KeyRing& keys) {
  const bool keeps = now.boolean("tiene") && wanted.grace.count() > 0;
  const bool into_b = keeps && now.boolean("en_a");
  const auto stored = stored_secret(keys, id, wanted.secret);
  session.update(into_b ? set_b : set_a, stored.key_id, stored.sealed, stored.fingerprint,
                 stored.unverifiable,
                 keeps ? std::optional(std::int64_t{wanted.grace.count()}) : std::nullopt, id);
  if (!keeps) session.update(erase_b, id);
  return {SecretChanged::done, session.query(grace_of, id).at(0).optional_time("hasta")};
}

/// Requires a transaction.
SecretChange change_locked(Session& session, const Author& author, WebhookId id, const NewSecret& wanted,
                           const webhook::KeyRing& keys, unsigned max_per_hour) {
  // A leaked secret is replaced at once. The audit counts such changes of an hour in one row for each
  // webhook.
  const bool at_once = wanted.grace.count() == 0;
  const unsigned limit = at_once ? 0 : max_per_hour;
  if (limit > 0) lock_quotas(session, author.entity);
  const auto rows = session.query(lock_secrets, id, author.entity);
  if (rows.empty()) return {SecretChanged::not_found, {}};
  const auto& now = rows.front();
  const auto fingerprint = now.optional_text("secreto_huella").value_or("");
  if (keys.is_authentic(purpose, fingerprinted(id, wanted.secret), fingerprint))
    return set_again(session, author, id, now, at_once);
  if (!now.null("anterior_hasta") && !at_once)
    return {SecretChanged::grace_running, now.optional_time("anterior_hasta")};
  use_quota(session, Quota::changes, author.entity, limit);
  const auto changed = set_another(session, id, now, wanted, keys);
  note(session, author, id, wanted.grace.count());
  return changed;
}

}  // namespace

StoredSecret stored_secret(const webhook::KeyRing& keys, WebhookId id, const std::string& secret) {
  const auto sealed = keys.seal(id, secret);
  return {sealed.key_id, crypto::to_hex(sealed.ciphertext),
          keys.authenticate(purpose, fingerprinted(id, secret)), !webhook::is_verifiable(secret)};
}

SecretChange change_secret(Session& session, const Author& author, WebhookId id, const NewSecret& wanted,
                           const webhook::KeyRing& keys, unsigned max_per_hour) {
  return transaction(session, [&] { return change_locked(session, author, id, wanted, keys, max_per_hour); });
}

bool end_grace(Session& session, const Author& author, WebhookId id) {
  return transaction(session, [&] {
    const auto rows = session.query(lock_secrets, id, author.entity);
    if (rows.empty() || rows.front().null("anterior_hasta")) return false;
    end_now(session, author, id);
    return true;
  });
}

std::uint64_t erase_ended_secrets(Session& session, std::string& refusal) {
  const auto ended = ids_in(session.query(ended_graces, batch_rows));
  if (ended.empty()) return 0;
  return transaction(session, [&] {
    const auto locked = ids_in<WebhookId>(query_ids(session, webhooks_by_id, ended, that_have_ended));
    return change_accepted(locked, "webhook", refusal, [&](const auto& some) {
      return update_ids(session, keep_current_in_a, some, "");
    });
  });
}

}  // namespace store
