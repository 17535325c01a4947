// The catalogue of the 11 events (docs/events.md) and sets of them.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace webhook {

/// In the order of GET /webhooks/eventos (web/docs/webhooks.md#los-eventos-que-hay); the value is the
/// position in the catalogue.
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

/// "evaluacion.abierta"
std::string_view name(Event event);

/// Exact, case-sensitive; nullopt for anything else.
std::optional<Event> find_event(std::string_view name);

/// A set of events: no repeats, iterated in catalogue order.
class EventSet {
 public:
  void insert(Event event) { bits_.set(static_cast<std::size_t>(event)); }
  bool contains(Event event) const { return bits_.test(static_cast<std::size_t>(event)); }
  bool empty() const { return bits_.none(); }
  std::vector<Event> events() const;
  /// "evaluacion.abierta,incidencia.cerrada": the database's SET spelling. Empty for the empty set.
  std::string joined() const;
  /// Reads joined(). Names that are not in the catalogue are left out: a newer version beside this one wrote
  /// them.
  static EventSet from_joined(std::string_view text);
  bool operator==(const EventSet&) const = default;

 private:
  std::bitset<event_count> bits_;
};

}  // namespace webhook
