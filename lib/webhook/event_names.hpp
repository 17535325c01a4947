// Events as JSON, as the API and the audit write them.
#pragma once

#include "lib/json/json.hpp"
#include "lib/webhook/event.hpp"

namespace webhook {

/// ["evaluacion.abierta", …], in catalogue order.
json::Array event_names(const EventSet& events);

}  // namespace webhook
