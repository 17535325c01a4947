// The headers of a notification's POST (web/docs/verificar-la-firma.md; Standard Webhooks 1.0).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/webhook/event.hpp"

namespace webhook {

/// Returns `sha256=<lower-case hex>`: HMAC-SHA256 of the raw body with the bytes of the secret as key.
std::string webhook_signature(std::string_view secret, std::string_view body);

/// Returns `v1,<base64>` of HMAC-SHA256 over `id.timestamp.body`. The key is the decoded part of a
/// well-formed `whsec_<base64>` secret, and the raw bytes of any other secret.
std::string standard_webhooks_signature(std::string_view secret, std::string_view id,
                                        std::int64_t timestamp_s, std::string_view body);

/// Returns header lines, `Name: value`, without line ends: Content-Type, X-Webhook-Event, webhook-id,
/// webhook-timestamp and, with a secret, X-Webhook-Signature and webhook-signature. With a `previous` secret,
/// webhook-signature carries both signatures, X-Webhook-Signature-Nueva is made with `secret`, and
/// X-Webhook-Signature with `previous`, for receivers that do not have `secret` yet.
std::vector<std::string> notification_headers(Event event, std::string_view message_id,
                                              std::int64_t timestamp_s, std::string_view body,
                                              const std::optional<std::string>& secret,
                                              const std::optional<std::string>& previous = {});

}  // namespace webhook
