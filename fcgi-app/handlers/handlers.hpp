// The operations of the API, one file each. They throw HttpError, webhook::InvalidRequest and what the store
// throws.
#pragma once

#include <string_view>
#include <vector>

#include "fcgi-app/http.hpp"
#include "platform/config.hpp"
#include "store/session/session.hpp"
#include "store/webhooks/webhooks.hpp"
#include "webhook/sealed_secret.hpp"

namespace api {

/// An authenticated request to a known route, and what serves it.
struct Call {
  const store::Caller& caller;
  std::string_view parameter;  // the `{id}` segment of the path, unchecked
  std::string_view body;
  store::Session& session;
  const webhook::KeyRing& keys;
  const std::vector<platform::HostOverride>& overrides;
  const platform::LimitSettings& limits;
};

using Handler = Response (*)(const Call&);

Response register_webhook(const Call& call);  // POST /webhooks
Response list_webhooks(const Call& call);     // GET /webhooks
Response delete_webhook(const Call& call);    // DELETE /webhooks/{id}
Response list_events(const Call& call);       // GET /webhooks/eventos
Response test_event(const Call& call);        // POST /webhooks/test

}  // namespace api
