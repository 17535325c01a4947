#include "lib/delivery/classify.hpp"

#include <algorithm>
#include <limits>

#include "lib/delivery/failure_text.hpp"
#include "lib/delivery/retry_policy.hpp"

namespace delivery {

namespace {

/// Returns the wait that the answer's Retry-After asks for, at most retry_after_max. If the field is
/// repeated, the longest wait counts. Returns nullopt if the status is neither 429 nor 503, or no field can
/// be parsed.
std::optional<platform::Milliseconds> retry_after(const Attempt& attempt,
                                                  const config::DeliverySettings& settings,
                                                  platform::UtcTime now) {
  std::optional<platform::Milliseconds> longest;
  if (!asks_to_wait(attempt)) return longest;
  for (const auto& value : attempt.retry_after) {
    const auto wait = parse_retry_after(value, now);
    if (wait && (!longest || *wait > *longest)) longest = std::min(*wait, settings.retry_after_max);
  }
  return longest;
}

/// A result with the identity of its delivery, and no outcome yet.
DeliveryResult result_of(const LeasedDelivery& delivery) {
  DeliveryResult result;
  result.id = delivery.id;
  result.webhook = delivery.webhook;
  result.entity = delivery.entity;
  result.lease = delivery.lease;
  result.test = delivery.test;
  result.kind = delivery.kind;
  result.replay = delivery.replay;
  result.failures = delivery.failures;
  return result;
}

DeliveryResult describe(const Attempt& attempt) {
  auto result = result_of(attempt.delivery);
  result.attempts = attempt.delivery.attempts;
  result.started = attempt.started;
  result.duration = attempt.duration;
  result.address = attempt.address;
  result.signatures = attempt.signatures;
  result.certificate_end = attempt.certificate_end;
  if (attempt.transport == TransportResult::answered) result.status = attempt.status;
  return result;
}

}  // namespace

DeliveryResult classify(const Attempt& attempt, const config::DeliverySettings& settings, double chance,
                        platform::UtcTime now) {
  auto result = describe(attempt);
  if (!attempt.counted) {
    result.state = DeliveryState::pending;
    result.counted = false;
    result.error = outage_text(attempt.silence);
    result.url = attempt.url;
    return result;
  }
  result.error = failure_text(attempt.transport, attempt.status, settings, attempt.host);
  if (result.error.empty()) {
    result.state = DeliveryState::delivered;
    if (attempt.transport == TransportResult::sandboxed) result.error = sandbox_text;
    return result;
  }
  result.url = attempt.url;
  const auto asked = retry_after(attempt, settings, now);
  result.retry_after = asked;
  result.state = DeliveryState::pending;
  if (attempt.delivery.kind == AttemptKind::scheduled) {
    if (result.failures < std::numeric_limits<unsigned>::max()) ++result.failures;
    const RetryPolicy policy{settings.retry_schedule, settings.retry_jitter, settings.retry_after_max};
    result.wait = next_attempt(policy, result.failures, attempt.delivery.test, chance, asked);
    if (!result.wait) result.state = DeliveryState::failed;
  }
  result.one_at_a_time = attempt.transport != TransportResult::answered || asks_to_wait(attempt);
  result.gone = attempt.transport == TransportResult::answered && attempt.status == 410;
  if (attempt.transport == TransportResult::answered && attempt.status == 429)
    result.rest = asked.value_or(settings.retry_schedule.front());
  return result;
}

DeliveryResult of_former_url(DeliveryResult result) {
  // A 410 from the former URL does not deactivate the webhook, but the usual text of a 410 says that it does.
  if (result.gone && result.status) result.error = unexpected_status_text(*result.status);
  result.state = DeliveryState::pending;
  result.failures = 0;
  result.wait = platform::Milliseconds{};
  result.retry_after = platform::Milliseconds{};  // overrides an earlier Retry-After
  result.one_at_a_time = false;
  result.gone = false;
  result.certificate_end.reset();
  result.rest = {};
  result.former_url = true;
  return result;
}

DeliveryResult hold_unreadable(const HeldDelivery& held) {
  const bool of_webhook = held.what == Unreadable::secret;
  auto result = result_of(held.delivery);
  result.state = DeliveryState::held;
  result.error = std::string(of_webhook ? "El secreto del webhook no se puede leer"
                                        : "Los datos de la prueba no se pueden leer") +
                 ": la entrega queda retenida hasta que el operador lo resuelva";
  if (of_webhook) result.rest = unreadable_secret_rest;
  return result;
}

}  // namespace delivery
