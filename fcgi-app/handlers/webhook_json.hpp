// A webhook as the API shows it (web/docs/webhooks.md#registrar-un-webhook). The secret is in no response.
#pragma once

#include "lib/json/json.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace api {

json::Value time_or_null(const std::optional<store::UtcTime>& time);

/// id, url, eventos, activo, fechaAlta.
json::Object created_webhook(const store::Webhook& webhook);

/// Those and ultimaEjecucion, ultimoEstado, ultimoError.
json::Object listed_webhook(const store::Webhook& webhook);

}  // namespace api
