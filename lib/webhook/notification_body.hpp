// The envelope of a notification and the data of a test event (web/docs/que-llega.md#el-cuerpo,
// web/docs/que-llega.md#avisos-de-prueba).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"
#include "lib/webhook/event.hpp"
#include "lib/webhook/ids.hpp"

namespace webhook {

/// Returns `{"evento":…,"timestamp":…,"data":<data_json>}`. `data_json` must be valid JSON; it is copied
/// byte for byte.
std::string notification_body(Event event, platform::UtcTime occurred, std::string_view data_json);
std::string notification_body(std::string_view event, platform::UtcTime occurred, std::string_view data_json);

/// The `data` of a test event: test, entidadId, entidadNombre, mensaje, datos (in this order). `extra` is
/// datosExtra: an object, or null for the empty object. No JSON library writes it like this: it has blanks
/// that the envelope has not, and an escaped letter. So a receiver that parses the body and verifies what it
/// has written again refuses a test event, as it would refuse what the evaluation system writes.
std::string test_event_data(Event event, EntityId entity, std::string_view entity_name,
                            const json::Value& extra);

/// What the receiver should do with a diagnosis's test request, and how the request is written.
enum class DiagnosisBody {
  refused,
  accepted,  // `datos` also has a sample of what parsing and writing again changes
  large,     // as `accepted`, but with 60 KB of text
};
/// The event of a test request that no release sends otherwise.
inline constexpr std::string_view unknown_event = "diagnostico.evento_desconocido";

/// The `data` of a diagnosis's test request, in the shape of test_event_data(). `check`: the name of the
/// check.
std::string diagnosis_data(EntityId entity, std::string_view entity_name, std::string_view check,
                           DiagnosisBody kind);

/// A whole body like that of a diagnosis's test request, which nearly every JSON library writes again as it
/// is: without blanks, in ASCII, without a slash, and with sorted keys.
std::string rewritten_diagnosis_body(Event event, platform::UtcTime occurred, EntityId entity,
                                     std::string_view check);

/// The `webhook-id` of a delivery: the same on every attempt and unique among all deliveries. The creation
/// time keeps it unique when a database restored from a backup assigns ids again.
std::string message_id(DeliveryId delivery, platform::UtcTime created);

}  // namespace webhook
