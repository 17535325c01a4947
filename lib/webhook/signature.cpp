#include "lib/webhook/signature.hpp"

#include "lib/crypto/crypto.hpp"

namespace webhook {

namespace {

std::string standard_webhooks_key(std::string_view secret) {
  constexpr std::string_view prefix = "whsec_";
  if (secret.starts_with(prefix)) {
    auto key = crypto::from_base64(secret.substr(prefix.size()));
    if (key && !key->empty()) return std::move(*key);
  }
  return std::string(secret);
}

}  // namespace

std::string webhook_signature(std::string_view secret, std::string_view body) {
  return "sha256=" + crypto::to_hex(crypto::hmac_sha256(secret, body));
}

std::string standard_webhooks_signature(std::string_view secret, std::string_view id,
                                        std::int64_t timestamp_s, std::string_view body) {
  std::string signed_text;
  signed_text.append(id).append(".").append(std::to_string(timestamp_s)).append(".").append(body);
  return "v1," + crypto::to_base64(crypto::hmac_sha256(standard_webhooks_key(secret), signed_text));
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
