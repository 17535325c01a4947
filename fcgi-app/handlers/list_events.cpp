#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/webhook/event.hpp"

namespace api {

Response list_events(const Call&) {
  json::Array names;
  for (const webhook::Event event : webhook::all_events()) names.emplace_back(name(event));
  return json_response(200, json::Object{{"eventos", std::move(names)}});
}

}  // namespace api
