// The headers of a notification's POST (web/docs/verificar-la-firma.md; Standard Webhooks 1.0).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/webhook/event.hpp"

namespace webhook {

/// `sha256=<lower-case hex>`: HMAC-SHA256 of the raw body with the bytes of the secret as key.
std::string webhook_signature(std::string_view secret, std::string_view body);

/// `v1,<base64>` of HMAC-SHA256 over `id.timestamp.body`; the key is the decoded part of a well-formed
/// `whsec_<base64>` secret, the raw bytes of any other.
std::string standard_webhooks_signature(std::string_view secret, std::string_view id,
                                        std::int64_t timestamp_s, std::string_view body);

/// Complete header lines, `Name: value`, without line end: Content-Type, X-Webhook-Event, webhook-id,
/// webhook-timestamp and, with a secret, X-Webhook-Signature and webhook-signature. While the secret before
/// signs too, webhook-signature has both, X-Webhook-Signature is that of the one before, for receivers that
/// compare it, and X-Webhook-Signature-Nueva that of `secret`.
std::vector<std::string> notification_headers(Event event, std::string_view message_id,
                                              std::int64_t timestamp_s, std::string_view body,
                                              const std::optional<std::string>& secret,
                                              const std::optional<std::string>& previous = {});

}  // namespace webhook
