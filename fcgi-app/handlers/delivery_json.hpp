// A delivery as the API shows it (docs/api.md#la-entrega): nothing of a secret, a signature, or what a
// receiver said.
#pragma once

#include "store/deliveries/delivery_log.hpp"
#include "webhook/json.hpp"

namespace api {

/// id, mensaje, evento, prueba, estado, intentos, creada, entregada, terminada, proximoIntento, ultimoEstado,
/// ultimoError.
webhook::json::Object listed_delivery(const store::LoggedDelivery& delivery);

/// numero, tipo, inicio, duracionMs, direccion, firmas, estadoHttp, error. `shows_address`: the host is one
/// of the internet's, and its address no secret of the operator's.
webhook::json::Object listed_attempt(const store::Attempt& attempt, bool shows_address);

}  // namespace api
