#include "fcgi-app/handlers/log_query.hpp"

#include "fcgi-app/http/errors.hpp"
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

}  // namespace

store::LogFilter read_log_filter(const Query& query) {
  store::LogFilter filter{
      query.one_of("estado", {"pendiente", "en_curso", "entregada", "fallida", "cancelada", "retenida"}),
      event_of(query), query.time("desde"), query.time("hasta"),
      query.one_of("conFallos", {"true"}).has_value()};
  if (filter.since && filter.until && *filter.since > *filter.until)
    throw BadRequest("desde: no puede ser posterior a hasta");
  return filter;
}

std::string filter_text(const Query& query) {
  std::string text;
  for (const auto* name : {"estado", "evento", "desde", "hasta"})
    text.append(" ").append(query.text(name).value_or("-"));
  // Without conFallos, the cursors of the release before stay valid during a rolling upgrade.
  if (query.text("conFallos")) text.append(" conFallos");
  return text;
}

}  // namespace api
