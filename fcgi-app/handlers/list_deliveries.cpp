#include "fcgi-app/handlers/delivery_json.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/page.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/query.hpp"
#include "lib/webhook/event.hpp"

namespace api {
namespace {

std::optional<std::string> event_of(const Query& query) {
  auto event = query.text("evento");
  if (event && !webhook::find_event(*event))
    throw BadRequest(
        "evento: no es un evento válido; los nombres están en GET /apientidades/v1/webhooks/eventos");
  return event;
}

store::LogFilter filter_of(const Query& query) {
  store::LogFilter filter{
      query.one_of("estado", {"pendiente", "en_curso", "entregada", "fallida", "cancelada", "retenida"}),
      event_of(query), query.time("desde"), query.time("hasta")};
  if (filter.since && filter.until && *filter.since > *filter.until)
    throw BadRequest("desde: no puede ser posterior a hasta");
  return filter;
}

/// The question that a cursor of this list is bound to (cursor.hpp): the webhook and the filter.
std::string question_of(store::WebhookId webhook, const Query& query) {
  std::string question = "entregas " + to_string(webhook);
  for (const auto* name : {"estado", "evento", "desde", "hasta"})
    question.append(" ").append(query.text(name).value_or("-"));
  return question;
}

}  // namespace

Response list_deliveries(const Call& call) {
  const Query query(call.query, {"estado", "evento", "desde", "hasta", "limite", "cursor"});
  const auto filter = filter_of(query);
  // Whatever the cursor, another entity's id gets the same answer as an id that does not exist.
  const store::WebhookId id = parse_id(call.parameters[0]).value_or(0);
  const auto request = read_page_request(call, query, question_of(id, query));
  const auto page =
      store::read_log_page(call.session, own_webhook(call).id, filter, request.limit, request.before);
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
