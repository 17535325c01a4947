// Tables `webhooks` and `webhook_ejecuciones`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/crypto/crypto.hpp"
#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/idempotency.hpp"
#include "lib/webhook/event.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

struct Webhook {
  WebhookId id;
  EntityId entity;
  std::string url;
  webhook::EventSet events;
  bool active;
  std::optional<std::string> inactive_reason;  // operador, http_410, fallos, entidad
  UtcTime created;
  std::optional<UtcTime> last_execution;
  std::optional<std::int64_t> last_status;
  std::string last_error;
};
/// From the columns that have their names, and those of webhook_ejecuciones.
Webhook read_webhook(const Row& row);

/// Who calls the API: everything that a request needs to know, in one round trip.
struct Caller {
  EntityId id;
  std::string name;
  std::vector<Webhook> webhooks;  // if they were asked for; five at most, ordered by id
  TokenId token = 0;              // that it calls with
  bool read_only = false;         // that token
};

using TokenHash = crypto::Sha256;

/// What is read of a caller besides who it is. Its webhooks are half of a look-up's cost.
enum class CallerWith { webhooks, nothing_else };

/// For each hash, in order, who has that token; nullopt: no such token, or it or its entity is expired,
/// revoked or disabled.
std::vector<std::optional<Caller>> find_callers(Session& session, std::span<const TokenHash> hashes,
                                                CallerWith with = CallerWith::webhooks);
/// The same for one.
std::optional<Caller> find_caller(Session& session, const TokenHash& token_hash,
                                  CallerWith with = CallerWith::webhooks);

struct NewWebhook {
  EntityId entity;
  std::string url;
  webhook::EventSet events;
  std::optional<std::string> secret;  // sealed before it is stored
  std::optional<TokenId> token{};     // by which it is registered, for the audit
};
/// nullopt: the entity has five. Inactive where the operator has disabled its URL (disabled_urls.hpp). With
/// `max_per_hour` (0: no limit) throws TooManyRegistrations (registration_quota.hpp).
std::optional<Webhook> create_webhook(Session& session, const NewWebhook& webhook,
                                      const webhook::KeyRing& keys, unsigned max_per_hour = 0);

/// Of a request that may be a repetition: what it is answered is remembered with the webhook, in one
/// transaction.
struct RegisteredOnce {
  std::optional<EarlierRequest> earlier;  // it is one: nothing was registered, and nothing counted
  std::optional<std::string> answer;  // what `answer` made of the new webhook; neither: the entity has five
};
/// As create_webhook. One with the same key that is under way is waited for.
RegisteredOnce create_webhook_once(Session& session, const NewWebhook& webhook, const webhook::KeyRing& keys,
                                   unsigned max_per_hour, const IdempotentRequest& request,
                                   const std::function<std::string(const Webhook&)>& answer);

/// Frees the slot and forgets the secret, in constant time; maintenance cancels what was pending. Once it has
/// returned, nothing of this webhook is claimed. False: not the entity's, or no longer there.
bool delete_webhook(Session& session, const Author& author, WebhookId id);
/// The same within a transaction.
bool remove_webhook(Session& session, const Author& author, WebhookId id);

/// For the operator: those not deleted. `filter.state` is not used.
std::vector<Webhook> list_webhooks(Session& session, const ListFilter& filter);
std::optional<Webhook> find_webhook(Session& session, WebhookId id);

/// Reasons of `webhooks.motivo`.
inline constexpr std::string_view disabled_by_operator = "operador";
inline constexpr std::string_view disabled_by_gone = "http_410";
inline constexpr std::string_view disabled_by_failures = "fallos";
inline constexpr std::string_view disabled_by_entity = "entidad";

/// False: no such webhook. A disabled one keeps its reason, unless the operator disables it, too: then its
/// URL is disabled for the entity (disabled_urls.hpp).
bool disable_webhook(Session& session, WebhookId id, std::string_view reason);

struct EnableResult {
  std::uint64_t released = 0;   // deliveries retenida -> pendiente
  std::uint64_t cancelled = 0;  // with discard: retenida or pendiente -> cancelada
};
/// Enables it and its URL, starts the failure streak again, and releases (or, with `discard`, cancels) what
/// was held, in batches. nullopt: no such webhook.
std::optional<EnableResult> enable_webhook(Session& session, WebhookId id, bool discard);

}  // namespace store
