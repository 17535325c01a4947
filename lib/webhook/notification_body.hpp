// The envelope of a notification and the data of a test event (web/docs/que-llega.md#el-cuerpo,
// web/docs/que-llega.md#avisos-de-prueba).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"
#include "lib/webhook/event.hpp"

namespace webhook {

/// `{"evento":…,"timestamp":…,"data":<data_json>}`: `data_json`, already checked, goes in byte for byte.
std::string notification_body(Event event, platform::UtcTime occurred, std::string_view data_json);

/// The `data` of a test event: test, entidadId, entidadNombre, mensaje, datos (in this order). `extra` is
/// datosExtra, an object; null becomes the empty object.
std::string test_event_data(Event event, std::int64_t entity_id, std::string_view entity_name,
                            const json::Value& extra);

/// The `data` of a notification of a diagnosis, in the shape of a test event's. `accepted`: the receiver
/// should; `probe`: the name of the check.
std::string diagnosis_data(std::int64_t entity_id, std::string_view entity_name, bool accepted,
                           std::string_view probe);

/// `webhook-id` of a delivery: the same on every attempt, and different for every delivery ever made, also
/// when the database was restored from a backup and counts its ids again (hence the creation time).
std::string message_id(std::int64_t delivery_id, platform::UtcTime created);

}  // namespace webhook
