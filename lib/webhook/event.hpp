// The catalogue of the 11 events (docs/events.md), and sets of events.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace webhook {

/// In the order of GET /webhooks/eventos (web/docs/webhooks.md#los-eventos-que-hay).
enum class Event : unsigned char {
  evaluacion_abierta,
  evaluacion_prorroga,
  evaluacion_cierre_proximo,
  evaluacion_cerrada,
  resultados_provisionales,
  resultados_definitivos,
  alegaciones_periodo_abierto,
  alegaciones_periodo_cierre,
  incidencia_respuesta,
  incidencia_cerrada,
  documento_disponible,
};

inline constexpr std::size_t event_count = 11;

/// Every event, in catalogue order.
const std::array<Event, event_count>& all_events();

/// The event's name in the API, "evaluacion.abierta".
std::string_view name(Event event);

/// Finds the event of exactly this name (case-sensitive); nullopt if there is none.
std::optional<Event> find_event(std::string_view name);

/// A set of events, iterated in catalogue order.
class EventSet {
 public:
  void insert(Event event) { bits_.set(static_cast<std::size_t>(event)); }
  bool contains(Event event) const { return bits_.test(static_cast<std::size_t>(event)); }
  bool empty() const { return bits_.none(); }
  std::vector<Event> events() const;
  /// The database's SET spelling, "evaluacion.abierta,incidencia.cerrada"; empty for the empty set.
  std::string joined() const;
  /// Reads joined(). Skips names that are not in the catalogue, because a newer release may have written
  /// them.
  static EventSet from_joined(std::string_view text);
  bool operator==(const EventSet&) const = default;

 private:
  std::bitset<event_count> bits_;
};

}  // namespace webhook
