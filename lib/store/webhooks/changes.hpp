// Changes of a webhook by its entity, and their application by the dispatcher.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

/// A webhook and the fields that the list of webhooks does not show.
struct WebhookDetail {
  Webhook webhook;
  bool has_secret;
  bool weak_secret;                          // the current one, of fewer than 16 bytes
  bool unverifiable_secret;                  // the current one (webhook::is_verifiable)
  std::optional<UtcTime> modified;           // last change by its entity
  std::optional<UtcTime> previous_until;     // until then the previous secret signs, too; unset: it does not
  std::optional<UtcTime> inactive_since{};   // set while inactive; unset also if an earlier release did it
  std::optional<UtcTime> certificate_end{};  // of the receiver's, at its last handshake
  std::optional<std::string> secret_version{};  // changes with the secret, not with the key that seals it
};
/// Finds a webhook of the entity that is not deleted; otherwise nullopt.
std::optional<WebhookDetail> find_detail(Session& session, EntityId entity, WebhookId id);

/// The version of the webhook's configuration, including its secret's version, as 32 hexadecimal digits.
/// The last execution is not part of it.
std::string version_of(const WebhookDetail& detail);

/// Decides whether the present webhook, which is locked, is the expected one.
using Expected = std::function<bool(const WebhookDetail&)>;

/// Unset fields keep their values.
struct WebhookChange {
  std::optional<std::string> url{};
  std::optional<webhook::EventSet> events{};
  std::optional<bool> active{};
  std::optional<std::optional<std::string>> name{};  // nullopt within: the webhook loses its name
  bool empty() const { return !url && !events && !active && !name; }
};

enum class WebhookChanged {
  done,                 // also when nothing had to change
  not_found,            // not a webhook of the entity, or deleted
  precondition_failed,  // `expected` returned false
  operator_disabled,    // only the operator may enable the webhook
  url_disabled,         // the operator has disabled the URL
  name_taken,           // another webhook of the entity has the name
};

struct ChangedWebhook {
  WebhookChanged result;
  std::optional<WebhookDetail> now{};     // when done: the state after this change, read before the commit
  std::optional<FailureStreak> streak{};  // when done: its failure streak
};

struct ChangePolicy {
  unsigned max_per_hour = 0;               // 0: no limit
  platform::Milliseconds disable_after{};  // as in find_failure_streak
};

/// Makes the whole change or none of it; concurrent changes of a webhook wait for each other. The dispatcher
/// applies the change to the deliveries (apply_changes). Activating an active webhook ends its failure
/// streak. A change counts as a registration, so that no entity can fill the audit: throws OverQuota
/// beyond `max_per_hour`.
ChangedWebhook change_webhook(Session& session, const Author& author, WebhookId id,
                              const WebhookChange& change, const Expected& expected,
                              const ChangePolicy& policy = {});

/// As delete_webhook, if the webhook is the expected one. Returns done, not_found or precondition_failed.
WebhookChanged delete_expected_webhook(Session& session, const Author& author, WebhookId id,
                                       const Expected& expected);

/// A walk over the changes; the next walk continues what this walk leaves unfinished.
struct ChangeWalk {
  WebhookId after = 0;
  std::uint64_t hastened = 0;    // deliveries made due
  std::uint64_t applied = 0;     // webhooks with nothing left to do
  std::uint64_t unfinished = 0;  // webhooks with further deliveries to make due
  std::uint64_t held = 0;        // webhooks with a locked row
  std::vector<WebhookId> begun;  // webhooks that rest no longer: their deliveries may be due
  std::string refusal;           // the last row that the database refused to change, and why
  bool done = false;
};
/// Takes one step of the walk. Ends the rest and the failure streak of the next changed webhook; after a
/// change of URL, makes due a batch of its deliveries that wait for a retry, and starts their schedule again.
/// A delivery that the database refuses to change keeps its schedule. If the database refuses any other write
/// of the step, the step changes nothing, and the next walk tries this webhook again. Does not wait for
/// locks, except on MySQL for a lock that SKIP LOCKED does not show. After a kill at any point, the next call
/// continues.
void apply_changes(Session& session, ChangeWalk& walk);

}  // namespace store
