#include "lib/delivery/executions.hpp"

#include <algorithm>
#include <limits>

namespace delivery {

namespace {

using platform::Milliseconds;
using platform::UtcTime;

/// When a recovery or a probe may begin. A recovery begins with the first success after a failure; later
/// successes do not move it. A probe waits for `probe_interval`, or for the rest if that is longer.
std::optional<UtcTime> ahead_from(const Execution& before, const WebhookResults& results, UtcTime now,
                                  Milliseconds probe_interval) {
  if (is_delivered(*results.last))
    return results.any_failed || !before.error.empty() ? std::optional(now) : before.ahead_from;
  if (probe_interval.count() == 0) return std::nullopt;
  return now + std::max(probe_interval, results.rest);
}

bool streak_goes_on(const Execution& before, UtcTime now) {
  const auto last = before.last_failure ? before.last_failure : before.started;
  return before.failures > 0 && before.failing_since && last && *last > now - longest_streak_pause;
}

void add_failures(Execution& execution, const WebhookResults& results, UtcTime now) {
  if (results.succeeded || !streak_goes_on(execution, now)) {
    execution.failures = 0;
    execution.failing_since.reset();
  }
  if (results.failures == 0) return;
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  execution.failures += std::min(results.failures, most - execution.failures);
  execution.failing_since = execution.failing_since.value_or(now);
  execution.last_failure = now;
}

}  // namespace

bool WebhookResults::only_succeeded() const {
  return succeeded && !any_failed && rest.count() == 0 && !last->one_at_a_time;
}

std::map<WebhookId, WebhookResults> results_by_webhook(const std::vector<const DeliveryResult*>& batch) {
  std::map<WebhookId, WebhookResults> by_webhook;
  for (const auto* result : batch) {
    if (!result->counted || result->former_url) continue;
    auto& results = by_webhook[result->webhook];
    results.rest = std::max(results.rest, result->rest);
    if (!was_attempted(*result)) continue;
    results.last = result;
    const bool success = is_delivered(*result);
    results.any_failed = results.any_failed || !success;
    if (result->test) continue;
    results.succeeded = results.succeeded || success;
    if (success)
      results.failures = 0;
    else if (result->kind != AttemptKind::probe)
      ++results.failures;
  }
  return by_webhook;
}

Execution after(const Execution& before, const WebhookResults& results, UtcTime now,
                Milliseconds probe_interval) {
  auto execution = before;
  add_failures(execution, results, now);
  if (results.rest.count() > 0)
    execution.rests_until = std::max(now + results.rest, before.rests_until.value_or(now));
  if (results.last == nullptr) return execution;
  execution.ahead_from = ahead_from(before, results, now, probe_interval);
  execution.started = results.last->started;
  execution.status = results.last->status;
  execution.error = is_delivered(*results.last) ? std::string() : results.last->error;
  execution.one_at_a_time = results.last->one_at_a_time;
  return execution;
}

}  // namespace delivery
