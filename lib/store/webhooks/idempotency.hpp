// Table `claves_idempotencia`: registrations with an Idempotency-Key
// (web/docs/webhooks.md#repetir-un-registro) of the last 24 h. It has a row per registration only, so
// limits.registrations bounds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

struct Webhook;

/// A request that may be a repetition. The views outlive what it is given to.
struct IdempotentRequest {
  EntityId entity;
  std::string_view key;                   // 1 to 64 visible ASCII characters
  std::string_view body;                  // as it came: of it a keyed HMAC is kept, since it holds a secret
  std::string (*answer)(const Webhook&);  // the body of its 201
};

enum class EarlierResult {
  same,             // the same request
  another_body,     // the key belongs to a request with another body
  webhook_deleted,  // the registered webhook has been deleted
  cannot_tell,      // secrets.key_file lacks the key of the HMAC
};
struct EarlierRequest {
  EarlierResult result;
  std::string answer;  // for `same`: the body of its 201
};

/// Both are for the transaction that registers, which has locked the entity's quotas: one with the same key
/// that comes at the same time waits for it.

/// Finds an earlier request with this key in the last 24 h; nullopt when there is none.
std::optional<EarlierRequest> find_earlier(Session& session, const IdempotentRequest& request,
                                           const webhook::KeyRing& keys);
void remember_request(Session& session, const IdempotentRequest& request, const webhook::KeyRing& keys,
                      WebhookId registered, std::string_view answer);

/// Deletes a batch of requests older than 24 h. Returns their number.
std::uint64_t forget_old_requests(Session& session);

}  // namespace store
