// Events as JSON, as the API and the audit write them.
#pragma once

#include "webhook/event.hpp"
#include "webhook/json.hpp"

namespace webhook {

/// ["evaluacion.abierta", …], in catalogue order.
json::Array event_names(const EventSet& events);

}  // namespace webhook
