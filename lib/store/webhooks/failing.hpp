// Webhooks with a failure streak, and the time of their deactivation
// (docs/delivery.md#a-webhook-that-keeps-failing).
//
// A failure streak consists of the failed attempts, scheduled or early, since the last success. Test events,
// probes, and failures because of our own outage or this host do not count. A success, an activation, a new
// URL, or 48 h without a failure that counts ends the streak. `disable_after` is the setting
// delivery.disable_after; with 0 no webhook is deactivated.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// SQL condition on a row of webhook_ejecuciones with a failure streak: the streak is not over. The same rule
/// as when a result is recorded: delivery::longest_streak_pause.
inline constexpr std::string_view streak_goes_on =
    "COALESCE(fallos_ultimo, ultima_ejecucion) > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR";

/// A streak of fewer failures deactivates no webhook.
inline constexpr unsigned min_failures_to_disable = 10;

struct FailureStreak {
  UtcTime since;  // the time of the first failure
  std::int64_t failures;
  /// The next failure after this time deactivates the webhook; the time may be past. Unset if `disable_after`
  /// is 0, for an inactive webhook, before the tenth failure, and while the database's clock is in doubt.
  std::optional<UtcTime> deactivation;
};
/// Returns nullopt when the webhook does not fail now, or does not exist.
std::optional<FailureStreak> find_failure_streak(Session& session, WebhookId id,
                                                 platform::Milliseconds disable_after);

struct FailingWebhook {
  WebhookId id;
  EntityId entity;
  std::string url;
  FailureStreak streak;
  std::optional<std::int64_t> last_status;  // of the last attempt, which may be a probe or a test event
  std::string last_error;
};
/// Lists the active webhooks that fail now and match entity and webhook of the filter, up to its limit, the
/// longest streak first. Reads the whole table webhook_ejecuciones, but in `webhooks` only the rows of
/// failing webhooks.
std::vector<FailingWebhook> list_failing_webhooks(Session& session, const ListFilter& filter,
                                                  platform::Milliseconds disable_after);

/// How many active webhooks have failed for at least half of `disable_after`, and for at least nine tenths.
/// The time of our own outages does not count. Includes webhooks with fewer than ten failures.
struct NearDeactivation {
  std::int64_t half;
  std::int64_t nine_tenths;
};
/// Returns nullopt while the database's clock is in doubt. Costs as much as list_failing_webhooks.
std::optional<NearDeactivation> count_near_deactivation(Session& session,
                                                        platform::Milliseconds disable_after);

/// Returns which webhooks of `failed` must be deactivated. A failure of each of them has just been recorded.
std::vector<WebhookId> find_due_for_deactivation(Session& session, const std::vector<WebhookId>& failed,
                                                 platform::Milliseconds disable_after);

}  // namespace store
