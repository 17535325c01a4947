#include "lib/webhook/event.hpp"

#include <algorithm>

namespace webhook {

namespace {

// Indexed by the value of Event.
constexpr std::array<std::string_view, event_count> names{
    "evaluacion.abierta",          "evaluacion.prorroga",        "evaluacion.cierre_proximo",
    "evaluacion.cerrada",          "resultados.provisionales",   "resultados.definitivos",
    "alegaciones.periodo_abierto", "alegaciones.periodo_cierre", "incidencia.respuesta",
    "incidencia.cerrada",          "documento.disponible",
};

constexpr std::array<Event, event_count> catalogue = [] {
  std::array<Event, event_count> events{};
  for (std::size_t i = 0; i < event_count; ++i) events[i] = static_cast<Event>(i);
  return events;
}();

}  // namespace

const std::array<Event, event_count>& all_events() { return catalogue; }

std::string_view name(Event event) { return names.at(static_cast<std::size_t>(event)); }

std::optional<Event> find_event(std::string_view name) {
  const auto* found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Event>(found - names.begin());
}

std::vector<Event> EventSet::events() const {
  std::vector<Event> result;
  std::copy_if(catalogue.begin(), catalogue.end(), std::back_inserter(result),
               [this](Event event) { return contains(event); });
  return result;
}

std::string EventSet::joined() const {
  std::string text;
  for (const Event event : events()) {
    if (!text.empty()) text += ',';
    text += name(event);
  }
  return text;
}

EventSet EventSet::from_joined(std::string_view text) {
  EventSet result;
  while (!text.empty()) {
    const auto name = text.substr(0, text.find(','));
    if (const auto event = find_event(name)) result.insert(*event);
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  return result;
}

}  // namespace webhook
