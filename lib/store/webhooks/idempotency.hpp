// Table `claves_idempotencia`: registrations that had an Idempotency-Key
// (web/docs/webhooks.md#repetir-un-registro), for 24 h. Only what was registered is in it, so
// limits.registrations bounds it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

/// A request that may be a repetition. The views outlive what it is given to.
struct IdempotentRequest {
  EntityId entity;
  std::string_view key;   // 1 to 64 visible ASCII characters
  std::string_view body;  // as it came: of it a keyed HMAC is kept, since it holds a secret
};

enum class EarlierResult {
  same,             // the same request
  another_body,     // its key was used for another one
  webhook_deleted,  // what it registered is there no longer
  cannot_tell,      // the key of the HMAC is no longer in secrets.key_file
};
struct EarlierRequest {
  EarlierResult result;
  std::string answer;  // with `same`: the body of its 201
};

/// Both are for the transaction that registers, in the entity's registration turn (registration_quota.hpp):
/// who comes at the same time waits for it.

/// nullopt: none with that key in the last 24 h.
std::optional<EarlierRequest> find_earlier(Session& session, const IdempotentRequest& request,
                                           const webhook::KeyRing& keys);
void remember_request(Session& session, const IdempotentRequest& request, const webhook::KeyRing& keys,
                      WebhookId registered, std::string_view answer);

/// Forgets a batch of those that are older than 24 h; how many.
std::uint64_t forget_old_requests(Session& session);

}  // namespace store
