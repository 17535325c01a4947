#include "dispatcher/http/request.hpp"

#include <utility>

#include "lib/delivery/ids.hpp"
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
  auto headers =
      webhook::notification_headers(delivery.event, webhook::message_id(delivery.id, delivery.created),
                                    seconds, request.body, request.secret, request.previous_secret);
  if (delivery.replay) headers.emplace_back("X-Webhook-Reenvio: 1");
  return headers;
}

}  // namespace dispatcher
