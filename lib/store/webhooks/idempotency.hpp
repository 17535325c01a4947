// Table `claves_idempotencia`: registrations of the last 24 h with an Idempotency-Key
// (web/docs/webhooks.md#repetir-un-registro). Only a registration adds a row, so limits.registrations bounds
// the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

struct Webhook;

/// A request that may be a repetition. The texts of `key` and `body` must outlive the calls that use the
/// request.
struct IdempotentRequest {
  EntityId entity;
  std::string_view key;                   // 1 to 64 visible ASCII characters
  std::string_view body;                  // as received; it may hold a secret, so only an HMAC is kept
  std::string (*answer)(const Webhook&);  // makes the body of the request's 201
};

enum class EarlierResult {
  same,             // the same request
  another_body,     // the key belongs to a request with another body
  webhook_deleted,  // the registered webhook has been deleted
  cannot_tell,      // secrets.key_file lacks the key with which the earlier body's HMAC was made
};
struct EarlierRequest {
  EarlierResult result;
  std::string answer;  // for `same`: the body of the earlier request's 201
};

/// Call the next two functions within the transaction that registers, after it has locked the entity's
/// quotas: a concurrent request with the same key then waits.

/// Finds an earlier request with this key in the last 24 h; nullopt when there is none.
std::optional<EarlierRequest> find_earlier(Session& session, const IdempotentRequest& request,
                                           const webhook::KeyRing& keys);
void remember_request(Session& session, const IdempotentRequest& request, const webhook::KeyRing& keys,
                      WebhookId registered, std::string_view answer);

/// Deletes a batch of requests older than 24 h. Returns their number.
std::uint64_t forget_old_requests(Session& session);

}  // namespace store
