// Changes a webhook's secret. `webhooks` has columns for two secrets: `a` (secreto_clave, secreto_sellado)
// and `b` (secreto_b_clave, secreto_b_sellado); `secreto_vigente` names the current one. If the previous
// secret gets a grace, it stays in `a` and the new secret is written to `b`. So the API does not move the
// previous secret, and needs no right to read it. After the grace the dispatcher moves the new secret to `a`,
// because dispatchers of earlier releases read only `a` and would send unsigned. A further change before that
// move writes into `a`.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

enum class SecretChanged {
  done,           // also for the same secret again
  not_found,      // not a webhook of the entity, or deleted
  grace_running,  // the previous secret's grace runs, and the row has no room for a third secret
};
struct SecretChange {
  SecretChanged result;
  std::optional<UtcTime> previous_until;  // end of the grace, while it runs
};

struct NewSecret {
  std::string secret;
  std::chrono::seconds grace;
};

/// Makes `wanted.secret` the current secret. For `wanted.grace` the previous secret also signs; a grace of 0
/// ends every older secret at once. If `wanted.secret` is the current secret already, only a grace of 0
/// changes anything. A new secret counts as a registration, except with a grace of 0: throws OverQuota over
/// `max_per_hour` (0: no limit).
SecretChange change_secret(Session& session, const Author& author, WebhookId id, const NewSecret& wanted,
                           const webhook::KeyRing& keys, unsigned max_per_hour = 0);

/// Ends the grace now: the previous secret signs no more, and erase_ended_secrets erases it soon. Returns
/// false when no grace runs, or there is no such webhook.
bool end_grace(Session& session, const Author& author, WebhookId id);

/// Erases a batch of secrets after their grace, and moves the current ones to `a`. Returns the number of
/// changed webhooks. Skips locked webhooks, and those that the database refuses to change; `refusal` names
/// the last refused webhook.
std::uint64_t erase_ended_secrets(Session& session, std::string& refusal);

/// A secret as the webhook's row holds it. The fingerprint shows whether another secret is equal, and cannot
/// be computed without a key.
struct StoredSecret {
  std::string key_id;
  std::string sealed;  // hexadecimal
  std::string fingerprint;
  bool unverifiable;  // !webhook::is_verifiable
};
StoredSecret stored_secret(const webhook::KeyRing& keys, WebhookId id, const std::string& secret);

}  // namespace store
