#include "dispatcher/http/request.hpp"

#include <algorithm>
#include <utility>

#include "lib/crypto/crypto.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/sealed_data.hpp"
#include "lib/webhook/signature.hpp"

namespace dispatcher {

namespace {

/// Decrypts `sealed`, if it is set, into `secret`. False: it cannot be decrypted.
bool open(const webhook::KeyRing& keys, delivery::WebhookId webhook,
          const std::optional<webhook::SealedSecret>& sealed, std::optional<std::string>& secret) {
  if (sealed) secret = keys.open(webhook, *sealed);
  return sealed.has_value() == secret.has_value();
}

/// Adds headers that look like genuine signatures. Each signature is 32 of the test request's random bytes.
void add_wrong_signatures(const Request& request, std::vector<std::string>& headers) {
  const auto bytes = [&](std::size_t i) {
    return request.test_request->signature.substr(i * wrong_signature_bytes, wrong_signature_bytes);
  };
  auto standard = "v1," + crypto::to_base64(bytes(1));
  if (request.previous_secret) standard += " v1," + crypto::to_base64(bytes(2));
  headers.push_back("X-Webhook-Signature: sha256=" + crypto::to_hex(bytes(0)));
  headers.push_back("webhook-signature: " + standard);
  if (request.previous_secret)
    headers.push_back("X-Webhook-Signature-Nueva: sha256=" + crypto::to_hex(bytes(3)));
}

/// Changes the headers of a genuine request as the kind of the test request says.
void put_in_rare_form(const Request& request, std::vector<std::string>& headers) {
  using enum delivery::TestRequestKind;
  const auto kind = request.test_request->kind;
  for (auto& header : headers) {
    const auto colon = header.find(':');
    const auto name = header.substr(0, colon);
    if (kind == charset && name == "Content-Type") header += "; charset=utf-8";
    if (kind == header_case) std::ranges::transform(name, header.begin(), text::upper);
    if (kind == second_signature && name == "webhook-signature") {
      const auto bytes = request.test_request->signature.substr(0, wrong_signature_bytes);
      header.insert(colon + 2, "v1," + crypto::to_base64(bytes) + " ");
    }
    if (kind == unknown_event && name == "X-Webhook-Event")
      header.replace(colon + 2, std::string::npos, webhook::unknown_event);
  }
}

std::vector<std::string> test_request_headers(const Request& request, std::int64_t seconds) {
  using enum delivery::TestRequestKind;
  const auto kind = request.test_request->kind;
  if (kind == old_timestamp) seconds -= std::chrono::seconds(delivery::old_by).count();
  const auto event = request.delivery.event;
  const auto& id = request.test_request->message_id;
  if (kind != wrong_signature && kind != no_signature) {
    auto headers = webhook::notification_headers(event, id, seconds, request.body, request.secret,
                                                 request.previous_secret);
    put_in_rare_form(request, headers);
    return headers;
  }
  auto headers = webhook::notification_headers(event, id, seconds, request.body, {});
  if (kind == wrong_signature) add_wrong_signatures(request, headers);
  return headers;
}

}  // namespace

bool open_secrets(Request& request, const store::Target& target, const webhook::KeyRing& keys) {
  if (!open(keys, target.webhook, target.secret, request.secret)) return false;
  // The present secret signs alone if the previous one cannot be decrypted: an entity that replaces a
  // secret because the key is lost must not wait for the end of the grace.
  if (target.previous_secret) request.previous_secret = keys.open(target.webhook, *target.previous_secret);
  return true;
}

std::variant<Request, Unreadable> prepare_request(delivery::LeasedDelivery delivery,
                                                  const store::Target& target, const webhook::KeyRing& keys,
                                                  platform::MonotonicTime lease_until) {
  Request request;
  if (!open_secrets(request, target, keys)) return Unreadable::secret;
  if (delivery.test) {
    auto data = webhook::open_test_data(keys, delivery.entity, delivery.event, delivery.data);
    if (!data) return Unreadable::test_data;
    delivery.data = std::move(*data);
  }
  request.url = target.url;
  request.body =
      webhook::notification_body(delivery.event, delivery.occurred, std::exchange(delivery.data, {}));
  request.lease_until = lease_until;
  request.delivery = std::move(delivery);
  return request;
}

std::vector<std::string> headers_of(const Request& request, platform::UtcTime attempted) {
  const auto& delivery = request.delivery;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(attempted).time_since_epoch().count();
  if (request.test_request) return test_request_headers(request, seconds);
  auto headers =
      webhook::notification_headers(delivery.event, webhook::message_id(delivery.id, delivery.created),
                                    seconds, request.body, request.secret, request.previous_secret);
  if (delivery.replay) headers.emplace_back("X-Webhook-Reenvio: 1");
  return headers;
}

}  // namespace dispatcher
