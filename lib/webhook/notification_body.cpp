#include "lib/webhook/notification_body.hpp"

namespace webhook {

namespace {

/// Escapes the first `ó` of `message`, which must have one. `datos` is JSON.
std::string test_data(EntityId entity, std::string_view entity_name, std::string_view message,
                      std::string_view datos) {
  constexpr std::string_view letter = "ó";
  auto escaped = json::dump(message);
  escaped.replace(escaped.find(letter), letter.size(), R"(\u00f3)");
  std::string data = R"({"test": true, "entidadId": )" + to_string(entity);
  data.append(R"(, "entidadNombre": )").append(json::dump(entity_name));
  data.append(R"(, "mensaje": )").append(escaped).append(R"(, "datos":)").append(datos).append("}");
  return data;
}

}  // namespace

std::string notification_body(Event event, platform::UtcTime occurred, std::string_view data_json) {
  return notification_body(name(event), occurred, data_json);
}

std::string notification_body(std::string_view event, platform::UtcTime occurred,
                              std::string_view data_json) {
  // Written without a JSON writer, because the data must stay the same byte for byte. Neither the event's
  // name nor the time needs escaping.
  std::string body = R"({"evento":")";
  body.append(event).append(R"(","timestamp":")").append(platform::format_iso8601(occurred));
  body.append(R"(","data":)").append(data_json).append("}");
  return body;
}

std::string test_event_data(Event event, EntityId entity, std::string_view entity_name,
                            const json::Value& extra) {
  const std::string message = "Notificación de prueba del evento " + std::string(name(event)) +
                              ", lanzada desde la API de integración.";
  return test_data(entity, entity_name, message, extra.is_null() ? "{}" : json::dump(extra));
}

std::string diagnosis_data(EntityId entity, std::string_view entity_name, std::string_view check,
                           DiagnosisBody kind) {
  const std::string sample = R"(, "muestra": {"texto": "\u0061\/b 😀", "nota": 7.50, "id": 9007199254740993})";
  const auto data = [&](std::string_view verb, std::string_view more) {
    const auto message = "Diagnóstico: esta notificación debe " + std::string(verb);
    const auto datos = R"({"diagnostico": ")" + std::string(check) + R"(")" + std::string(more) + "}";
    return test_data(entity, entity_name, message, datos);
  };
  switch (kind) {
    case DiagnosisBody::refused:
      return data("rechazarse", "");
    case DiagnosisBody::accepted:
      return data("aceptarse", sample);
    case DiagnosisBody::large:
      return data("aceptarse", sample + R"(, "relleno": ")" + std::string(60 * 1024, 'x') + R"(")");
  }
  return {};
}

std::string rewritten_diagnosis_body(Event event, platform::UtcTime occurred, EntityId entity,
                                     std::string_view check) {
  json::Object data{{"datos", json::Object{{"diagnostico", check}}},
                    {"entidadId", entity},
                    {"mensaje", "Este aviso debe aceptarse"},
                    {"test", true}};
  return json::dump(json::Object{
      {"data", std::move(data)}, {"evento", name(event)}, {"timestamp", platform::format_iso8601(occurred)}});
}

std::string message_id(DeliveryId delivery, platform::UtcTime created) {
  return "msg_" + std::to_string(created.time_since_epoch().count()) + "_" + to_string(delivery);
}

}  // namespace webhook
