// What an entity changes of its webhook, and what the dispatcher makes of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

/// A webhook and what only its own page shows.
struct WebhookDetail {
  Webhook webhook;
  bool has_secret;
  std::optional<UtcTime> modified;        // by its entity
  std::optional<UtcTime> previous_until;  // the grace of the secret before the current one, while it runs
  std::optional<std::string> secret_version{};  // another one with another secret, whichever key seals it
};
/// Of the entity's, not deleted; else nullopt.
std::optional<WebhookDetail> find_detail(Session& session, EntityId entity, WebhookId id);

/// Of its configuration, its secret's version included: deliveries do not change it. 32 hexadecimal digits.
std::string version_of(const WebhookDetail& detail);

/// Asked of the webhook as it is, locked.
using Expected = std::function<bool(const WebhookDetail&)>;

/// Unset fields stay as they are.
struct WebhookChange {
  std::optional<std::string> url{};
  std::optional<webhook::EventSet> events{};
  std::optional<bool> active{};
  bool empty() const { return !url && !events && !active; }
};

enum class WebhookChanged {
  done,               // or nothing to do
  not_found,          // not the entity's, or deleted
  unexpected,         // `expected` said no
  operator_disabled,  // only the operator may enable it
  url_disabled,       // likewise the URL that it would be sent to
};

struct ChangedWebhook {
  WebhookChanged result;
  std::optional<WebhookDetail> now{};     // when done: read before it was committed, so nobody else's
  std::optional<FailureStreak> streak{};  // likewise
};

struct ChangePolicy {
  unsigned max_per_hour = 0;               // 0: no limit
  platform::Milliseconds disable_after{};  // as of find_failure_streak
};

/// Changes it as a whole or not at all, one change after the other. What the change means for its deliveries
/// is left to the dispatcher (apply_changes). To activate one that is active ends its streak of failures. A
/// change counts as a registration, or nobody could be kept from filling the audit: throws
/// TooManyRegistrations.
ChangedWebhook change_webhook(Session& session, const Author& author, WebhookId id,
                              const WebhookChange& change, const Expected& expected,
                              const ChangePolicy& policy = {});

/// delete_webhook, of the version that is expected: done, not_found or unexpected.
WebhookChanged delete_expected_webhook(Session& session, const Author& author, WebhookId id,
                                       const Expected& expected);

/// A walk over the changes; what it leaves unfinished the next one goes on with.
struct ChangeWalk {
  WebhookId after = 0;
  std::uint64_t hastened = 0;  // deliveries that wait no longer
  std::uint64_t applied = 0;   // webhooks
  std::uint64_t unfinished = 0;
  std::uint64_t held = 0;  // somebody holds their row
  bool done = false;
};
/// What changes have left to do, for the next webhook, a batch of its deliveries: its streak of failures and
/// its rest end; when its URL is another one, what waits for a retry is due, its schedule from the start.
/// Waits for no lock; killed on any line, another one goes on where it was.
void apply_changes(Session& session, ChangeWalk& walk);

}  // namespace store
