// The API's request bodies as checked values.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"
#include "lib/webhook/event.hpp"
#include "lib/webhook/limits.hpp"

namespace webhook {

inline constexpr std::size_t max_secret_characters = 512;
inline constexpr std::size_t max_name_characters = 60;
/// The most levels of `datosExtra`. In the body that a receiver gets for a test event, `data` contains
/// `datosExtra`, and so has up to 31 levels, the most that MariaDB's JSON_VALID accepts.
inline constexpr unsigned max_extra_depth = 30;
static_assert(max_webhooks_per_entity == 5);
inline constexpr std::string_view too_many_webhooks_message = "Máximo 5 webhooks";

/// what() is the Spanish message of the 400.
struct InvalidRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads a body as a JSON object. Throws InvalidRequest.
json::Value parse_object(std::string_view body);

struct Registration {
  std::string url;  // as stored
  EventSet events;
  std::optional<std::string> secret;  // absent, null and "" mean no secret
  std::optional<std::string> name;    // absent and null mean no name
};

/// Throws InvalidRequest for the first rule that fails, in the order of
/// web/docs/webhooks.md#las-reglas-de-cada-campo.
Registration parse_registration(std::string_view body, const std::vector<config::HostOverride>& overrides);

/// The changes of PATCH /webhooks/{id}, a merge patch (RFC 7396). Unset fields keep their values.
struct WebhookPatch {
  std::optional<std::string> url;  // as stored
  std::optional<EventSet> events;
  std::optional<bool> active;
  std::optional<std::optional<std::string>> name;  // nullopt within: the webhook loses its name
};

/// Throws InvalidRequest for the first rule that fails, in the order of
/// web/docs/webhooks.md#cambiar-un-webhook.
WebhookPatch parse_patch(std::string_view body, const std::vector<config::HostOverride>& overrides);

/// PUT /webhooks/{id}/secreto.
struct NewSecret {
  std::string secret;
  std::chrono::seconds grace;  // 0 to max_grace
};
inline constexpr std::chrono::seconds max_grace = std::chrono::days(7);

/// Throws InvalidRequest for the first rule that fails, in the order of
/// web/docs/cambiar-el-secreto.md#las-reglas.
NewSecret parse_new_secret(std::string_view body);

/// POST /webhooks/{id}/reenvios.
struct ReplayRequest {
  platform::UtcTime since;
  std::optional<platform::UtcTime> until;  // unset: until now
  std::optional<EventSet> events;          // unset: all
  bool failed = true;
  bool delivered = false;
  bool simulate = false;
};

/// Throws InvalidRequest for the first rule that fails, in the order of web/docs/entregas.md#muchas-a-la-vez.
ReplayRequest parse_replay(std::string_view body);

struct TestEventRequest {
  Event event;
  json::Value extra;  // datosExtra: an object of at most max_extra_depth levels, or null when none was sent
};

/// Reads POST /webhooks/test, which ignores unknown members. Throws InvalidRequest.
TestEventRequest parse_test_event_request(std::string_view body);
/// Reads POST /webhooks/{id}/prueba, which refuses them. Throws InvalidRequest.
TestEventRequest parse_webhook_test_request(std::string_view body);

}  // namespace webhook
