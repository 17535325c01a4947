// Preparing a POST: body, headers, signatures. No I/O.
#pragma once

#include <variant>

#include "http/attempt.hpp"
#include "store/webhooks/target.hpp"
#include "webhook/sealed_secret.hpp"

namespace dispatcher {

/// What cannot be decrypted is held, never sent unsigned (docs/delivery.md).
std::variant<Request, Unreadable> prepare_request(delivery::LeasedDelivery delivery,
                                                  const store::Target& target, const webhook::KeyRing& keys,
                                                  platform::MonotonicTime lease_until);

/// `Name: value`, each; signed at the time of the attempt.
std::vector<std::string> headers_of(const Request& request, platform::UtcTime attempted);

}  // namespace dispatcher
