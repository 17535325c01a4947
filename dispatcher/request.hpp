// Preparing a POST: body, headers, signature. No I/O.
#pragma once

#include <optional>

#include "attempt.hpp"
#include "store/lease.hpp"
#include "store/target.hpp"
#include "webhook/sealed_secret.hpp"

namespace dispatcher {

/// nullopt: the webhook's secret, or the data of a test event, cannot be decrypted, so the delivery is held
/// (never sent unsigned, design 1.3).
std::optional<Request> prepare_request(store::LeasedDelivery delivery, const store::Target& target,
                                       const webhook::KeyRing& keys, platform::UtcTime now,
                                       platform::MonotonicTime lease_until);

}  // namespace dispatcher
