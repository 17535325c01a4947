#include "fcgi-app/handlers/delivery_json.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/log_query.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/page.hpp"

namespace api {

Response list_deliveries(const Call& call) {
  const Query query(call.query, {"estado", "evento", "desde", "hasta", "conFallos", "limite", "cursor"});
  const auto filter = read_log_filter(query);
  // Whatever the cursor, another entity's id gets the same answer as an id that does not exist.
  const store::WebhookId id = parse_id(call.parameters[0]).value_or(0);
  const auto request = read_page_request(call, query, "entregas " + to_string(id) + filter_text(query));
  const auto page =
      store::read_log_page(call.session, {own_webhook(call).id}, filter, request.limit, request.before);
  constexpr std::size_t usual_delivery = 400;
  json::Writer writer((page.deliveries.size() + 1) * usual_delivery);
  writer.begin_object();
  writer.name("entregas");
  writer.begin_array();
  for (const auto& delivery : page.deliveries) {
    writer.begin_object();
    write_delivery(writer, delivery);
    writer.end_object();
  }
  writer.end_array();
  return page_response(writer, call, query, request,
                       page.next ? std::optional(page.next->number()) : std::nullopt);
}

}  // namespace api
