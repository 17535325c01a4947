#include "lib/webhook/event_summary.hpp"

#include <string>

namespace webhook {

std::array<std::string_view, 2> summary_fields(Event event) {
  switch (event) {
    case Event::evaluacion_abierta:
    case Event::evaluacion_cerrada:
      return {"evaluacionId", "titulo"};
    case Event::evaluacion_prorroga:
      return {"evaluacionId", "fechaFin"};
    case Event::evaluacion_cierre_proximo:
      return {"evaluacionId", "fechaCierre"};
    case Event::resultados_provisionales:
    case Event::resultados_definitivos:
    case Event::alegaciones_periodo_abierto:
    case Event::alegaciones_periodo_cierre:
      return {"evaluacionId", "declaracionId"};
    case Event::incidencia_respuesta:
    case Event::incidencia_cerrada:
      return {"incidenciaId", "titulo"};
    case Event::documento_disponible:
      return {"documentoId", "descripcion"};
  }
  return {};
}

json::Value event_summary(Event event, std::string_view data) try {
  const json::Value whole = json::parse(data);
  json::Object summary;
  for (const auto field : summary_fields(event)) {
    const auto* value = whole.find(field);
    if (value == nullptr) return {};
    summary.emplace_back(field, *value);
  }
  return summary;
} catch (const json::ParseError&) {
  return {};
}

}  // namespace webhook
