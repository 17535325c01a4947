#include "lib/webhook/notification_body.hpp"

namespace webhook {

std::string notification_body(Event event, platform::UtcTime occurred, std::string_view data_json) {
  // Written without a JSON writer, because the data must stay the same byte for byte. Neither the event's
  // name nor the time needs escaping.
  std::string body = R"({"evento":")";
  body.append(name(event)).append(R"(","timestamp":")").append(platform::format_iso8601(occurred));
  body.append(R"(","data":)").append(data_json).append("}");
  return body;
}

std::string test_event_data(Event event, EntityId entity, std::string_view entity_name,
                            const json::Value& extra) {
  const std::string message = "Notificación de prueba del evento " + std::string(name(event)) +
                              ", lanzada desde la API de integración.";
  return json::dump(json::Object{
      {"test", true},
      {"entidadId", entity},
      {"entidadNombre", entity_name},
      {"mensaje", message},
      {"datos", extra.is_null() ? json::Value(json::Object{}) : extra},
  });
}

std::string diagnosis_data(EntityId entity, std::string_view entity_name, bool accepted,
                           std::string_view check) {
  return json::dump(json::Object{
      {"test", true},
      {"entidadId", entity},
      {"entidadNombre", entity_name},
      {"mensaje",
       std::string("Diagnóstico: esta notificación debe ") + (accepted ? "aceptarse" : "rechazarse")},
      {"datos", json::Object{{"diagnostico", check}}},
  });
}

std::string message_id(DeliveryId delivery, platform::UtcTime created) {
  return "msg_" + std::to_string(created.time_since_epoch().count()) + "_" + to_string(delivery);
}

}  // namespace webhook
