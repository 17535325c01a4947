#include "fcgi-app/handlers/cursor.hpp"
#include "fcgi-app/handlers/delivery_json.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/query.hpp"
#include "lib/webhook/event.hpp"

namespace api {
namespace {

constexpr unsigned default_limit = 50;
constexpr unsigned max_limit = 100;

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

/// The same list from `cursor` on, as a relative reference (RFC 3986 section 4.2) with the relation `next`
/// (RFC 8288). In the values that filter_of() accepts, only `+` must be encoded.
Header link_to_next(const Query& query, const std::string& cursor) {
  std::string reference = "?";
  for (const std::string name : {"estado", "evento", "desde", "hasta", "limite"}) {
    const auto value = query.text(name);
    if (!value) continue;
    reference.append(name).append("=");
    for (const char c : *value) reference += c == '+' ? "%2B" : std::string(1, c);
    reference += "&";
  }
  return {"Link", "<" + reference + "cursor=" + cursor + ">; rel=\"next\""};
}

}  // namespace

Response list_deliveries(const Call& call) {
  const Query query(call.query, {"estado", "evento", "desde", "hasta", "limite", "cursor"});
  const auto filter = filter_of(query);
  const auto limit = query.number("limite", 1, max_limit).value_or(default_limit);
  const auto cursor = query.text("cursor");
  // Whatever the cursor, another entity's id gets the same answer as an id that does not exist.
  const store::WebhookId id = parse_id(call.parameters[0]).value_or(0);
  const auto question = question_of(id, query);
  const auto before = cursor ? std::optional(read_cursor(call.keys, question, *cursor)) : std::nullopt;
  const auto page = store::read_log_page(call.session, own_webhook(call).id, filter, limit, before);
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
  const auto next =
      page.next ? std::optional(make_cursor(call.keys, question, page.next->number())) : std::nullopt;
  writer.member("siguiente", next);
  writer.end_object();
  Response response{200, writer.take()};
  if (next) response.headers.push_back(link_to_next(query, *next));
  return response;
}

}  // namespace api
