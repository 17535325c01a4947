// Prepares a POST: body, headers, signatures. No I/O.
#pragma once

#include <variant>

#include "dispatcher/http/attempt.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

/// Decrypts the secrets of a webhook into `request`. False: the present one cannot be decrypted. A previous
/// one that cannot be decrypted does not sign.
bool open_secrets(Request& request, const store::Target& target, const webhook::KeyRing& keys);

/// Builds the request of a delivery. If the secret or the data cannot be decrypted, returns which: the
/// delivery must be held, never sent unsigned (docs/delivery.md#the-life-of-a-delivery).
std::variant<Request, Unreadable> prepare_request(delivery::LeasedDelivery delivery,
                                                  const store::Target& target, const webhook::KeyRing& keys,
                                                  platform::MonotonicTime lease_until);

/// Bytes of one wrong signature. A test request has up to four such signatures.
inline constexpr std::size_t wrong_signature_bytes = 32;

/// Returns the headers as `Name: value`, signed with the time of the attempt, or as the test request says.
std::vector<std::string> headers_of(const Request& request, platform::UtcTime attempted);

}  // namespace dispatcher
