#include "lib/webhook/event_names.hpp"

namespace webhook {

json::Array event_names(const EventSet& events) {
  json::Array names;
  names.reserve(event_count);
  for (const Event event : events.events()) names.emplace_back(name(event));
  return names;
}

}  // namespace webhook
