// A webhook as the API shows it (web/docs/webhooks.md#registrar-un-webhook). The secret is in no response.
#pragma once

#include "store/webhooks/webhooks.hpp"
#include "webhook/json.hpp"

namespace api {

webhook::json::Value time_or_null(const std::optional<store::UtcTime>& time);

/// id, url, eventos, activo, fechaAlta.
webhook::json::Object created_webhook(const store::Webhook& webhook);

/// Those and ultimaEjecucion, ultimoEstado, ultimoError.
webhook::json::Object listed_webhook(const store::Webhook& webhook);

}  // namespace api
