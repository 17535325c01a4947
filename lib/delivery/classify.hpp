// Decides what an attempt means for its delivery and its webhook (docs/delivery.md). Pure: time and chance
// are arguments.
#pragma once

#include "lib/config/config.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/delivery/result.hpp"

namespace delivery {

inline bool asks_to_wait(const Attempt& attempt) { return asks_to_wait(attempt.transport, attempt.status); }

/// Returns the result of the attempt. `chance` in [0, 1) places the retry within its jitter; a Retry-After
/// that is a date counts from `now`. Not for TransportResult not_started and local_failure, which do not
/// count as attempts.
DeliveryResult classify(const Attempt& attempt, const config::DeliverySettings& settings, double chance,
                        platform::UtcTime now);

/// Adapts the result of an attempt that went to a URL which the webhook has since replaced. Such an attempt
/// says nothing about the new URL, so the delivery is due at once and its schedule starts again. Not for a
/// delivered or held result.
DeliveryResult of_former_url(DeliveryResult result);

/// How long a webhook with an unreadable secret rests.
inline constexpr platform::Milliseconds unreadable_secret_rest{60000};

/// The result of a delivery that cannot be sent because its webhook's secret, or the data of its test event,
/// cannot be read: the delivery is held, and no attempt is made.
DeliveryResult hold_unreadable(const HeldDelivery& held);

}  // namespace delivery
