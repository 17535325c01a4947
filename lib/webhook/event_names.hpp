// Writes events as JSON, for the API and the audit.
#pragma once

#include "lib/json/json.hpp"
#include "lib/webhook/event.hpp"

namespace webhook {

/// Returns ["evaluacion.abierta", …], in catalogue order.
json::Array event_names(const EventSet& events);

}  // namespace webhook
