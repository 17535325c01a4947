// Request bodies. An accepted body means the same after it is written and read again, and keeps the text of
// every number.
#include "lib/json/json.hpp"
#include "lib/text/utf8.hpp"
#include "lib/webhook/request_bodies.hpp"
#include "lib/webhook/target_url.hpp"
#include "tests/fuzz/property.hpp"

namespace {

/// In bytes. A message quotes at most 500 bytes of the request: elements of `eventos` that name no event.
constexpr std::size_t longest_message = 600;

void require_unicode(const std::string& text) {
  fuzz::require(text::count_characters(text).has_value(), "every string is UTF-8");
}

/// Checks `value` and all values in it. Finds the text of each number in `source`, in order; `source` then
/// begins after that text.
void check(const json::Value& value, std::string_view& source, unsigned depth) {
  fuzz::require(depth <= json::max_depth, "depth is capped");
  if (const auto* number = value.number()) {
    const auto at = source.find(number->text);
    fuzz::require(at != std::string_view::npos, "a number keeps its text");
    source.remove_prefix(at + number->text.size());
  } else if (const auto* text = value.string()) {
    require_unicode(*text);
  } else if (const auto* array = value.array()) {
    for (const auto& element : *array) check(element, source, depth + 1);
  } else if (const auto* object = value.object()) {
    for (const auto& [name, member] : *object) {
      require_unicode(name);
      fuzz::require(value.find(name) == &member, "a name is unique");
      check(member, source, depth + 1);
    }
  }
}

void check_parser(std::string_view source) try {
  const json::Value value = json::parse(source);
  const std::string written = json::dump(value);
  fuzz::require(json::parse(written) == value, "a value that is written and read again is the same");
  check(value, source, 0);
} catch (const json::ParseError& error) {
  fuzz::require_sentence(error.what(), longest_message);
}

void check_registration(std::string_view body) try {
  const auto registration = webhook::parse_registration(body, {});
  fuzz::require(!registration.events.events().empty(), "at least one event");
  fuzz::require(!registration.secret || !registration.secret->empty(), "a secret that is given is not empty");
  const auto verdict = webhook::judge_target_url(registration.url, {});
  const auto* target = std::get_if<webhook::TargetUrl>(&verdict);
  fuzz::require(target != nullptr && target->text == registration.url, "the URL is the one that was judged");
} catch (const webhook::InvalidRequest& error) {
  fuzz::require_sentence(error.what(), longest_message);
  require_unicode(error.what());
}

void check_test_request(std::string_view body) try {
  const auto request = webhook::parse_test_request(body);
  fuzz::require(request.extra.is_null() || request.extra.object() != nullptr, "datosExtra is an object");
} catch (const webhook::InvalidRequest& error) {
  fuzz::require_sentence(error.what(), longest_message);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  check_parser(text);
  check_registration(text);
  check_test_request(text);
  return 0;
}
