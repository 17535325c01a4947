// Webhooks that fail now, and when they are deactivated for it
// (docs/delivery.md#a-webhook-that-keeps-failing).
//
// A streak of failures: attempts of the schedule or ahead of it, since the last success. Test events and
// probes are no part of it, nor is what an outage of our own or this host's fault made fail. It is over after
// a success, an enabling, and 48 h without a failure. `disable_after`: delivery.disable_after; 0: nobody is
// deactivated.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// SQL: whether the streak of a row of webhook_ejecuciones goes on, if it fails now; else it is over.
inline constexpr std::string_view streak_goes_on =
    "COALESCE(fallos_ultimo, ultima_ejecucion) > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR";

struct FailureStreak {
  UtcTime since;  // its first failure
  std::int64_t failures;
  /// From then on its next failure deactivates the webhook; it may be past. With `disable_after` 0, for an
  /// inactive one, before the tenth failure, and while the database's clock is not believed: none.
  std::optional<UtcTime> deactivation;
};
/// nullopt: it does not fail now, or there is no such webhook.
std::optional<FailureStreak> find_failure_streak(Session& session, WebhookId id,
                                                 platform::Milliseconds disable_after);

struct FailingWebhook {
  WebhookId id;
  EntityId entity;
  std::string url;
  FailureStreak streak;
  std::optional<std::int64_t> last_status;  // of its last attempt, a probe or a test event perhaps
  std::string last_error;
};
/// The active ones that fail now, the longest first: in the order in which `disable_after` ends for them. Of
/// the filter `entity`, `webhook` and `limit` are used. Reads webhook_ejecuciones, and of webhooks those that
/// fail.
std::vector<FailingWebhook> list_failing_webhooks(Session& session, const ListFilter& filter,
                                                  platform::Milliseconds disable_after);

/// How many active webhooks have failed for so much of `disable_after`, or more, outages of our own apart;
/// those before their tenth failure count, too.
struct NearDeactivation {
  std::int64_t half;
  std::int64_t nine_tenths;
};
/// nullopt: the database's clock is not believed. Costs the same as the list.
std::optional<NearDeactivation> count_near_deactivation(Session& session,
                                                        platform::Milliseconds disable_after);

/// Those of `failed`, whose failure has just been recorded, that are to be deactivated for it.
std::vector<WebhookId> find_due_for_deactivation(Session& session, const std::vector<WebhookId>& failed,
                                                 platform::Milliseconds disable_after);

}  // namespace store
