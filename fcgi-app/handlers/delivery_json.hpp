// A delivery as the API shows it (web/docs/entregas.md#los-demás-campos): nothing of a secret, a signature,
// or what a receiver said.
#pragma once

#include <vector>

#include "lib/json/json_writer.hpp"
#include "lib/platform/ip.hpp"
#include "lib/store/deliveries/delivery_log.hpp"

namespace api {

/// Into an object that is open: id, mensaje, evento, prueba, estado, intentos, creada, entregada, terminada,
/// proximoIntento, ultimoEstado, ultimoError.
void write_delivery(json::Writer& writer, const store::LoggedDelivery& delivery);

/// An object: numero, tipo, inicio, duracionMs, direccion, firmas, estadoHttp, error. An address is null
/// unless it is one of the internet's, and within none of `hidden`, the operator's networks.
void write_attempt(json::Writer& writer, const store::RecordedAttempt& attempt,
                   const std::vector<platform::IpNetwork>& hidden);

}  // namespace api
