// A delivery as the API shows it (web/docs/entregas.md#los-demás-campos): without secrets, signatures or text
// that a receiver sent.
#pragma once

#include <vector>

#include "lib/json/json_writer.hpp"
#include "lib/platform/ip.hpp"
#include "lib/store/deliveries/delivery_log.hpp"

namespace api {

/// Writes into an open object: id, mensaje, evento, prueba, estado, intentos, creada, entregada, terminada,
/// proximoIntento, ultimoEstado, ultimoError.
void write_delivery(json::Writer& writer, const store::LoggedDelivery& delivery);

/// Writes an object: numero, tipo, inicio, duracionMs, direccion, firmas, estadoHttp, error. `direccion` is
/// null unless the address is public and in none of `hidden`, the operator's networks.
void write_attempt(json::Writer& writer, const store::RecordedAttempt& attempt,
                   const std::vector<platform::IpNetwork>& hidden);

}  // namespace api
