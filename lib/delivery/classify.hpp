// What an attempt means for its delivery and its webhook. Pure: time and chance are arguments
// (docs/delivery.md).
#pragma once

#include "lib/delivery/attempt.hpp"
#include "lib/delivery/result.hpp"
#include "lib/platform/config.hpp"

namespace delivery {

/// Answered with 429 or 503.
bool asks_to_wait(const Attempt& attempt);

/// `chance` in [0, 1) places the retry within its jitter; `now` is for a Retry-After given as a date.
/// Not for TransportResult::not_started, which is no attempt.
DeliveryResult classify(const Attempt& attempt, const platform::DeliverySettings& settings, double chance,
                        platform::UtcTime now);

/// The same result once the webhook has another URL: it says nothing of that one, so the delivery is due at
/// once, its schedule from the start. Not of one that was delivered, or is held.
DeliveryResult of_former_url(DeliveryResult result);

/// How long a webhook rests whose secret cannot be read, before it is tried again.
inline constexpr platform::Milliseconds unreadable_secret_rest{60000};

/// The result of a delivery that cannot be signed, or read: held, no attempt spent.
DeliveryResult hold_unreadable(const HeldDelivery& held);

}  // namespace delivery
