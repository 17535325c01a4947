#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/response.hpp"
#include "webhook/event.hpp"

namespace api {

Response list_events(const Call&) {
  webhook::json::Array names;
  for (const webhook::Event event : webhook::all_events()) names.emplace_back(name(event));
  return json_response(200, webhook::json::Object{{"eventos", std::move(names)}});
}

}  // namespace api
