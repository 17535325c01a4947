// Preparing a POST: body, headers, signatures. No I/O.
#pragma once

#include <optional>

#include "http/attempt.hpp"
#include "store/webhooks/target.hpp"
#include "webhook/sealed_secret.hpp"

namespace dispatcher {

/// nullopt: the webhook's secret, or the data of a test event, cannot be decrypted, so the delivery is held
/// (never sent unsigned: docs/delivery.md).
std::optional<Request> prepare_request(delivery::LeasedDelivery delivery, const store::Target& target,
                                       const webhook::KeyRing& keys, platform::MonotonicTime lease_until);

/// `Name: value`, each; signed at the time of the attempt.
std::vector<std::string> headers_of(const Request& request, platform::UtcTime attempted);

}  // namespace dispatcher
