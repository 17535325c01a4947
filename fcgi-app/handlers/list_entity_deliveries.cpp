#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "fcgi-app/handlers/delivery_json.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/log_query.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/page.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/event_summary.hpp"
#include "lib/webhook/notification_body.hpp"

namespace api {
namespace {

/// The delivery's id in `mensaje`, which is a webhook-id (webhook::message_id).
std::optional<store::DeliveryId> delivery_of(const Query& query) {
  const auto message = query.text("mensaje");
  if (!message) return std::nullopt;
  constexpr std::string_view prefix = "msg_";
  const auto last = message->rfind('_');
  const auto id = last == std::string::npos ? std::nullopt : parse_id(message->substr(last + 1));
  const bool whole =
      id && message->starts_with(prefix) && last > prefix.size() &&
      std::ranges::all_of(message->substr(prefix.size(), last - prefix.size()), text::is_digit);
  if (!whole) throw BadRequest("mensaje: debe ser el webhook-id de una entrega, como msg_1795168800000_812");
  return *id;
}

/// The caller's webhooks, or the one that `webhook` names. Throws NotFound, as for a path.
std::vector<store::WebhookId> webhooks_of(const Call& call, const Query& query) {
  const auto named = query.text("webhook");
  if (named) return {own_webhook(call, *named).id};
  std::vector<store::WebhookId> all;
  for (const auto& webhook : call.caller.webhooks) all.push_back(webhook.id);
  return all;
}

store::LogPage read_page(const Call& call, const Query& query, const PageRequest& request,
                         const store::LogFilter& filter, std::optional<store::DeliveryId> only) {
  const auto webhooks = webhooks_of(call, query);
  if (!only)
    return store::read_log_page(
        call.session, webhooks, filter, request.limit,
        request.before ? std::optional<store::DeliveryId>(*request.before) : std::nullopt);
  store::LogPage page;
  auto found = store::find_logged(call.session, webhooks, filter, *only);
  if (found && webhook::message_id(found->id, found->created) == query.text("mensaje"))
    page.deliveries.push_back(std::move(*found));
  return page;
}

/// The events of some deliveries, without those of tests, which have no summary.
std::map<store::DeliveryId, webhook::Event> events_of(std::span<const store::LoggedDelivery> deliveries) {
  std::map<store::DeliveryId, webhook::Event> events;
  for (const auto& delivery : deliveries) {
    const auto event = webhook::find_event(delivery.event);
    if (event && !delivery.test) events.emplace(delivery.id, *event);
  }
  return events;
}

/// The summaries of a page's events, by the delivery. Ends the page before the summary with which they would
/// exceed 192 KiB, so that the answer fits in the socket's send buffer. Data are read in parts, so that they
/// never take more memory than 16 events have.
std::map<store::DeliveryId, json::Value> summarize(const Call& call, store::LogPage& page) {
  constexpr std::size_t most_bytes = 196'608;
  constexpr std::size_t at_once = 16;
  std::map<store::DeliveryId, json::Value> summaries;
  std::size_t bytes = 0;
  auto& all = page.deliveries;
  for (std::size_t first = 0; first < all.size(); first += at_once) {
    const auto part = std::span(all).subspan(first, std::min(at_once, all.size() - first));
    const auto events = events_of(part);
    std::vector<store::DeliveryId> ids;
    for (const auto& [id, event] : events) ids.push_back(id);
    const auto data = store::read_event_data(call.session, ids);
    for (std::size_t i = first; i < first + part.size(); ++i) {
      const auto id = all[i].id;
      const auto found = data.find(id);
      if (found == data.end()) continue;
      auto summary = webhook::event_summary(events.at(id), found->second);
      bytes += json::dump(summary).size();
      if (bytes > most_bytes && i > 0) {
        all.resize(i);
        page.next = all.back().id;
        return summaries;
      }
      summaries.emplace(id, std::move(summary));
    }
  }
  return summaries;
}

}  // namespace

Response list_entity_deliveries(const Call& call) {
  const Query query(call.query, {"estado", "evento", "desde", "hasta", "conFallos", "webhook", "mensaje",
                                 "datos", "limite", "cursor"});
  const auto filter = read_log_filter(query);
  const auto only = delivery_of(query);
  const bool with_summary = query.one_of("datos", {"resumen"}).has_value();
  const auto request =
      read_page_request(call, query,
                        "entregas de " + to_string(call.caller.id) + filter_text(query) + ' ' +
                            query.text("webhook").value_or("-") + ' ' + query.text("mensaje").value_or("-"));
  auto page = read_page(call, query, request, filter, only);
  const auto summaries = with_summary ? summarize(call, page) : std::map<store::DeliveryId, json::Value>();
  constexpr std::size_t usual_delivery = 420;
  json::Writer writer((page.deliveries.size() + 1) * usual_delivery);
  writer.begin_object();
  writer.name("entregas");
  writer.begin_array();
  for (const auto& delivery : page.deliveries) {
    writer.begin_object();
    write_delivery(writer, delivery);
    writer.member("webhook", delivery.webhook);
    if (with_summary) {
      const auto found = summaries.find(delivery.id);
      writer.member("datos", found == summaries.end() ? json::Value() : found->second);
    }
    writer.end_object();
  }
  writer.end_array();
  return page_response(writer, call, query, request,
                       page.next ? std::optional(page.next->number()) : std::nullopt);
}

}  // namespace api
