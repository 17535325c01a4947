// Tables `webhooks` and `webhook_ejecuciones`.
#pragma once

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
  bool active = true;
  std::optional<std::string> inactive_reason{};  // operador, http_410, fallos, entidad
  UtcTime created;
  std::optional<UtcTime> last_execution{};
  std::optional<std::int64_t> last_status{};
  std::string last_error{};
  std::optional<std::string> name{};  // given by the entity, unique among its webhooks
};
/// `row` must have the columns of `webhooks` and of webhook_ejecuciones that Webhook needs, under the names
/// that they have in these tables.
Webhook read_webhook(const Row& row);

/// The caller of the API: everything that a request needs to know of it, read in one round trip.
struct Caller {
  EntityId id;
  std::string name;
  std::vector<Webhook> webhooks;  // if asked for: at most max_webhooks_per_entity, by id
  TokenId token = 0;              // the token of the request
  bool read_only = false;         // whether that token is read-only
};

using TokenHash = crypto::Sha256;

/// What find_callers reads besides the entity. To read the webhooks takes half of the time of a look-up.
enum class CallerWith { webhooks, nothing_else };

/// Returns the caller of each hash, in the order of `hashes`; nullopt when the token does not exist, has
/// expired or is revoked, or its entity is disabled.
std::vector<std::optional<Caller>> find_callers(Session& session, std::span<const TokenHash> hashes,
                                                CallerWith with = CallerWith::webhooks);
/// As find_callers, for one hash.
std::optional<Caller> find_caller(Session& session, const TokenHash& token_hash,
                                  CallerWith with = CallerWith::webhooks);

struct NewWebhook {
  EntityId entity;
  std::string url;
  webhook::EventSet events;
  std::optional<std::string> secret;  // sealed before it is stored
  std::optional<TokenId> token{};     // the token of the request, for the audit
  std::optional<std::string> name{};  // 1 to 60 characters
};
/// Neither of the first two fields is set when the entity already has max_webhooks_per_entity webhooks, or
/// when another of them has the name.
struct Registered {
  std::optional<Webhook> webhook;         // inactive if the operator has disabled its URL
  std::optional<EarlierRequest> earlier;  // set for a repetition: nothing was registered or counted
  bool name_taken = false;
};
/// Registers the webhook. Throws OverQuota over `max_per_hour` registrations (0: no limit). Stores `request`
/// in the transaction that creates the webhook, and waits for a concurrent request with the same key.
Registered create_webhook(Session& session, const NewWebhook& webhook, const webhook::KeyRing& keys,
                          unsigned max_per_hour = 0, const std::optional<IdempotentRequest>& request = {});

/// Erases the webhook's secrets and frees its `plaza`, its place among the five that an entity has. Takes no
/// longer if the webhook has many deliveries. After the commit no delivery of this webhook is claimed;
/// maintenance cancels the pending and held ones. Returns false when the entity has no such webhook, or the
/// webhook is deleted.
bool delete_webhook(Session& session, const Author& author, WebhookId id);
/// As delete_webhook. Requires a transaction.
bool remove_webhook(Session& session, const Author& author, WebhookId id);

/// Whether a webhook of the entity other than `except` has the name.
bool is_name_taken(Session& session, EntityId entity, std::string_view name, WebhookId except);

/// Lists webhooks that are not deleted, for the operator. Ignores `filter.state`.
std::vector<Webhook> list_webhooks(Session& session, const ListFilter& filter);
std::optional<Webhook> find_webhook(Session& session, WebhookId id);

/// The values of `webhooks.motivo`.
inline constexpr std::string_view disabled_by_operator = "operador";
inline constexpr std::string_view disabled_by_gone = "http_410";
inline constexpr std::string_view disabled_by_failures = "fallos";
inline constexpr std::string_view disabled_by_entity = "entidad";

/// Disables a webhook; returns false when there is no such webhook. An inactive webhook keeps its reason
/// unless `reason` is the operator's, which also disables the URL for the entity (disabled_urls.hpp).
bool disable_webhook(Session& session, WebhookId id, std::string_view reason);

struct EnableResult {
  std::uint64_t released = 0;  // deliveries retenida -> pendiente
  /// With `discard`: deliveries that were retenida or pendiente, and are in their final state now
  /// (lib/store/cancelled.hpp).
  std::uint64_t cancelled = 0;
};
/// Enables the webhook and its URL, ends its failure streak, and releases its held deliveries (with
/// `discard`, cancels held and pending ones), in batches. Returns nullopt when there is no such webhook.
std::optional<EnableResult> enable_webhook(Session& session, WebhookId id, bool discard);
/// Counts what enable_webhook() would change; changes and locks nothing.
EnableResult preview_enable_webhook(Session& session, WebhookId id, bool discard);

}  // namespace store
