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

/// Returns `v1,<base64>` of HMAC-SHA256 over `id.timestamp.body`. The key is what the official libraries
/// decode from a `whsec_<base64>` secret (also from `v1,whsec_<base64>`), and the raw bytes of any other
/// secret. A secret that earlier releases did not decode gets first a signature with its raw bytes, as
/// before, so that receivers that verify those go on working.
std::string standard_webhooks_signature(std::string_view secret, std::string_view id,
                                        std::int64_t timestamp_s, std::string_view body);

/// Whether official libraries of Standard Webhooks can verify a signature of standard_webhooks_signature()
/// with this secret as it is (tests/unit/secret_forms.json). A secret of another form than `whsec_…` is given
/// to them as bytes.
bool is_verifiable(std::string_view secret);
/// What entities are told of a secret that is not.
inline constexpr std::string_view unverifiable_secret =
    "este secreto no puede verificarse con las bibliotecas de Standard Webhooks";
/// How to make a good secret.
inline constexpr std::string_view good_secret_command = "printf 'whsec_%s\\n' \"$(openssl rand -base64 24)\"";

/// Returns header lines, `Name: value`, without line ends: Content-Type, X-Webhook-Event, webhook-id,
/// webhook-timestamp and, with a secret, X-Webhook-Signature and webhook-signature. With a `previous` secret,
/// webhook-signature carries both signatures, X-Webhook-Signature-Nueva is made with `secret`, and
/// X-Webhook-Signature with `previous`, for receivers that do not have `secret` yet.
std::vector<std::string> notification_headers(Event event, std::string_view message_id,
                                              std::int64_t timestamp_s, std::string_view body,
                                              const std::optional<std::string>& secret,
                                              const std::optional<std::string>& previous = {});

}  // namespace webhook
