// What an attempt means for its delivery and its webhook. Pure: time and chance are arguments (design 1.3).
#pragma once

#include "attempt.hpp"
#include "platform/config.hpp"
#include "store/settlement.hpp"

namespace dispatcher {

/// Answered with 429 or 503.
bool asks_to_wait(const Attempt& attempt);

/// `chance` in [0, 1) places the retry within its jitter; `now` is for a Retry-After given as a date.
/// Not for Ending::not_started, which is no attempt.
store::Settlement classify(const Attempt& attempt, const platform::DeliverySettings& settings, double chance,
                           platform::UtcTime now);

/// How long a webhook rests whose secret, or test event, cannot be read, before it is tried again.
inline constexpr platform::Milliseconds unreadable_secret_rest{60000};

/// The settlement of a delivery that cannot be signed, or read: held, no attempt spent.
store::Settlement hold_unreadable(const store::LeasedDelivery& delivery);

}  // namespace dispatcher
