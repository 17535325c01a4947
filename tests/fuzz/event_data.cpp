// Checks the data of an event. The first byte of the input chooses the event; the rest is the data, as the
// evaluation system wrote them.
#include "lib/webhook/event_data.hpp"
#include "lib/json/json.hpp"
#include "lib/text/utf8.hpp"
#include "lib/webhook/notification_body.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using webhook::Event;

std::optional<json::Value> parsed(std::string_view text) try {
  return json::parse(text);
} catch (const json::ParseError&) {
  return std::nullopt;
}

void check_accepted(Event event, std::string_view data, const std::optional<json::Value>& value) {
  fuzz::require(value && value->object() != nullptr, "what is accepted is an object");
  const std::string body = webhook::notification_body(event, platform::UtcTime{}, data);
  // The body puts the data one level deeper. `again` is nullopt if the data already have the most levels that
  // the parser allows.
  const auto again = parsed(body);
  if (again) fuzz::require(*again->find("data") == *value, "the body carries the data");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Event event = webhook::all_events()[data[0] % webhook::event_count];
  const auto text = fuzz::text_of(data + 1, size - 1);
  const auto reason = webhook::check_event_data(event, text);
  const auto value = parsed(text);
  if (value) {
    const auto of_its_meaning = webhook::check_event_data(event, json::dump(*value));
    fuzz::require(of_its_meaning == reason, "the verdict depends only on what the text means");
  }
  if (!reason) {
    check_accepted(event, text, value);
  } else {
    fuzz::require_sentence(*reason, 500);
    fuzz::require(text::count_characters(*reason).has_value(), "a reason is UTF-8");
  }
  return 0;
}
