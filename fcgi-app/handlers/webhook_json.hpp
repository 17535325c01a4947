// A webhook as the API shows it (web/docs/webhooks.md#registrar-un-webhook). No response contains the secret.
#pragma once

#include "lib/json/json.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace api {

json::Value time_or_null(const std::optional<store::UtcTime>& time);

/// Returns id, url, eventos, activo, fechaAlta.
json::Object created_webhook(const store::Webhook& webhook);

/// Returns the members of created_webhook and ultimaEjecucion, ultimoEstado, ultimoError.
json::Object listed_webhook(const store::Webhook& webhook);

}  // namespace api
