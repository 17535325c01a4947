#include "lib/webhook/signature.hpp"

#include "lib/crypto/crypto.hpp"

namespace webhook {

namespace {

constexpr std::string_view prefix = "whsec_";
constexpr std::string_view version = "v1,";

/// The key that a secret of the form `whsec_<base64>` or `v1,whsec_<base64>` encodes; nullopt for any other.
std::optional<std::string> encoded_key(std::string_view secret) {
  if (secret.starts_with(version)) secret.remove_prefix(version.size());
  if (!secret.starts_with(prefix)) return std::nullopt;
  auto key = crypto::from_unpadded_base64(secret.substr(prefix.size()));
  return key && !key->empty() ? key : std::nullopt;
}

}  // namespace

std::string webhook_signature(std::string_view secret, std::string_view body) {
  return "sha256=" + crypto::to_hex(crypto::hmac_sha256(secret, body));
}

std::string standard_webhooks_signature(std::string_view secret, std::string_view id,
                                        std::int64_t timestamp_s, std::string_view body) {
  std::string signed_text;
  signed_text.append(id).append(".").append(std::to_string(timestamp_s)).append(".").append(body);
  const auto sign = [&](std::string_view key) {
    return "v1," + crypto::to_base64(crypto::hmac_sha256(key, signed_text));
  };
  const auto key = encoded_key(secret);
  if (!key) return sign(secret);
  if (secret == std::string(prefix) + crypto::to_base64(*key)) return sign(*key);
  return sign(secret) + ' ' + sign(*key);  // earlier releases did not decode it
}

bool is_verifiable(std::string_view secret) {
  if (secret.starts_with(prefix)) return encoded_key(secret).has_value();
  return !secret.starts_with(std::string(version) + std::string(prefix));
}

std::vector<std::string> notification_headers(Event event, std::string_view message_id,
                                              std::int64_t timestamp_s, std::string_view body,
                                              const std::optional<std::string>& secret,
                                              const std::optional<std::string>& previous) {
  std::vector<std::string> headers{
      "Content-Type: application/json",
      "X-Webhook-Event: " + std::string(name(event)),
      "webhook-id: " + std::string(message_id),
      "webhook-timestamp: " + std::to_string(timestamp_s),
  };
  if (!secret) return headers;
  auto standard = standard_webhooks_signature(*secret, message_id, timestamp_s, body);
  if (previous) standard += ' ' + standard_webhooks_signature(*previous, message_id, timestamp_s, body);
  headers.push_back("X-Webhook-Signature: " + webhook_signature(previous.value_or(*secret), body));
  headers.push_back("webhook-signature: " + standard);
  if (previous) headers.push_back("X-Webhook-Signature-Nueva: " + webhook_signature(*secret, body));
  return headers;
}

}  // namespace webhook
