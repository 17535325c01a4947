// Preparing a POST: body, headers, signatures. No I/O.
#pragma once

#include <variant>

#include "dispatcher/http/attempt.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

/// False: one of them cannot be decrypted.
bool open_secrets(Request& request, const store::Target& target, const webhook::KeyRing& keys);

/// What cannot be decrypted is held, never sent unsigned (docs/delivery.md).
std::variant<Request, Unreadable> prepare_request(delivery::LeasedDelivery delivery,
                                                  const store::Target& target, const webhook::KeyRing& keys,
                                                  platform::MonotonicTime lease_until);

/// The length of each of the four signatures that a probe with a wrong one may have.
inline constexpr std::size_t wrong_signature_bytes = 32;

/// `Name: value`, each; signed at the time of the attempt, or as a probe says.
std::vector<std::string> headers_of(const Request& request, platform::UtcTime attempted);

}  // namespace dispatcher
