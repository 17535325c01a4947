// Another secret for a webhook, and the grace of the one before. The new one is written into column `b`,
// beside the one before, so that who may change a secret need not be able to read one; once the grace is
// over, the dispatcher moves it to `a`: what reads that column alone, as earlier versions do, never sends
// unsigned. (Until it has done so, a further change writes into `a`, and `secreto_vigente` says so.)
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

enum class SecretChanged {
  done,           // or the same secret again
  not_found,      // not the entity's, or deleted
  grace_running,  // of the one before: there is no room for a third
};
struct SecretChange {
  SecretChanged result;
  std::optional<UtcTime> previous_until;  // the grace, while it runs
};

struct NewSecret {
  std::string secret;
  std::chrono::seconds grace;
};

/// `secret` is the current one from then on. The one before signs too for `grace`; with 0 every old one ends
/// at once, also while a grace runs. The same secret again changes nothing else. Another one counts as a
/// registration: with `max_per_hour` (0: no limit) throws TooManyRegistrations.
SecretChange change_secret(Session& session, const Author& author, WebhookId id, const NewSecret& wanted,
                           const webhook::KeyRing& keys, unsigned max_per_hour = 0);

/// The grace ends now: the secret before signs nothing more, and is erased soon (erase_ended_secrets). False:
/// none runs, or there is no such webhook.
bool end_grace(Session& session, const Author& author, WebhookId id);

/// Erases the secrets whose grace has ended, a batch; how many. The current one is in `a` then. Waits for no
/// lock.
std::uint64_t erase_ended_secrets(Session& session);

/// `webhooks.secreto_huella`: by which the same secret is known again. Who has no key cannot make one.
std::string secret_fingerprint(const webhook::KeyRing& keys, WebhookId id, const std::string& secret);

}  // namespace store
