// Changes a webhook's secret, with a grace for the previous one. The new secret goes to column `b`, so that
// the API needs no right to read the other one. After the grace the dispatcher moves it to `a`, so that
// earlier versions, which read only `a`, never send unsigned. (A further change before that writes into `a`,
// and `secreto_vigente` says so.)
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
  grace_running,  // the previous secret's grace runs, and there is no room for a third
};
struct SecretChange {
  SecretChanged result;
  std::optional<UtcTime> previous_until;  // end of the grace, while it runs
};

struct NewSecret {
  std::string secret;
  std::chrono::seconds grace;
};

/// `secret` is the current one from then on. The one before signs too for `grace`; with 0 every old one ends
/// at once, also while a grace runs. The same secret again changes nothing else. Another one counts as a
/// registration: with `max_per_hour` (0: no limit) throws OverQuota.
SecretChange change_secret(Session& session, const Author& author, WebhookId id, const NewSecret& wanted,
                           const webhook::KeyRing& keys, unsigned max_per_hour = 0);

/// Ends the grace now: the previous secret signs no more, and erase_ended_secrets erases it soon. Returns
/// false when no grace runs, or there is no such webhook.
bool end_grace(Session& session, const Author& author, WebhookId id);

/// Erases a batch of secrets after their grace, and moves the current ones to `a`. Returns the number of
/// webhooks. Waits for no lock.
std::uint64_t erase_ended_secrets(Session& session);

/// A secret of a webhook, as its row holds it. By the fingerprint the same secret is known again; it cannot
/// be made without a key.
struct StoredSecret {
  std::string key_id;
  std::string sealed;  // hexadecimal
  std::string fingerprint;
};
StoredSecret stored_secret(const webhook::KeyRing& keys, WebhookId id, const std::string& secret);

}  // namespace store
