// Prepares a POST: body, headers, signatures. No I/O.
#pragma once

#include <variant>

#include "dispatcher/http/attempt.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

/// Decrypts the secrets of a webhook into `request`. Returns false when the present secret cannot be
/// decrypted. If only the previous secret cannot be decrypted, leaves it out: the present secret signs alone.
bool open_secrets(Request& request, const store::Target& target, const webhook::KeyRing& keys);

/// Builds the request of a delivery. If the secret or the data of a test event cannot be decrypted, returns
/// which of the two. Then the delivery must be held (docs/delivery.md#the-life-of-a-delivery), and never be
/// sent unsigned.
std::variant<Request, Unreadable> prepare_request(delivery::LeasedDelivery delivery,
                                                  const store::Target& target, const webhook::KeyRing& keys,
                                                  platform::MonotonicTime lease_until);

/// Returns the headers of a delivery's request as `Name: value`. The timestamp is `attempted`; the signatures
/// are made with the secrets of `request`.
std::vector<std::string> headers_of(const Request& request, platform::UtcTime attempted);

}  // namespace dispatcher
