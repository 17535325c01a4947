#include "admin/output/trace.hpp"

#include "admin/output/delivery_rows.hpp"
#include "admin/output/render.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/event.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/signature.hpp"

namespace admin {

namespace {

/// As `Name: value`; none if only a newer release knows the event.
std::vector<std::string> headers_of(const store::AttemptOfDelivery& traced) {
  const auto event = webhook::find_event(traced.delivery.event);
  if (!event) return {};
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(traced.attempt.started).time_since_epoch().count();
  const auto id = webhook::message_id(traced.delivery.id, traced.delivery.created);
  auto headers = webhook::notification_headers(*event, id, seconds, {}, {});
  if (traced.attempt.kind == "reenvio") headers.emplace_back("X-Webhook-Reenvio: 1");
  return headers;
}

std::string number_or(const std::optional<std::int64_t>& number, const std::string& otherwise) {
  return number ? std::to_string(*number) : otherwise;
}

}  // namespace

json::Object traced_row(const store::AttemptOfDelivery& traced) {
  const auto& [delivery, attempt] = traced;
  json::Object row{{"entrega_id", delivery.id}, {"evento", delivery.event}, {"estado", delivery.state}};
  row.emplace_back("proximo_intento", time_value(delivery.next_attempt));
  for (auto& member : to_row(attempt)) row.push_back(std::move(member));
  row.emplace_back("firmas", attempt.signatures);
  json::Array headers;
  for (auto& header : headers_of(traced)) headers.emplace_back(std::move(header));
  row.emplace_back("cabeceras", std::move(headers));
  return row;
}

std::string traced_text(const store::AttemptOfDelivery& traced) {
  const auto& [delivery, attempt] = traced;
  auto text = platform::format_iso8601(attempt.started) + " delivery " + to_string(delivery.id) +
              " attempt " + std::to_string(attempt.number) + " (" + attempt.kind + ") " +
              attempt.address.value_or("-") + " " + std::to_string(attempt.duration_ms) +
              " ms: " + number_or(attempt.status, "no answer");
  if (!attempt.error.empty()) text += ", " + text::one_line(attempt.error);
  text += "; " + delivery.state;
  if (delivery.next_attempt) text += " until " + platform::format_iso8601(*delivery.next_attempt);
  text += "\n ";
  for (const auto& header : headers_of(traced)) text += " " + header + ";";
  return text + " signatures: " + number_or(attempt.signatures, "-") + "\n";
}

}  // namespace admin
