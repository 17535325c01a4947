#include "fcgi-app/handlers/cursor.hpp"

#include "fcgi-app/http/errors.hpp"
#include "lib/text/text.hpp"

namespace api {

namespace {

constexpr std::string_view purpose = "cursor";

/// Returns the text that a cursor's code authenticates. Different arguments give different texts,
/// because the position, a number, ends at the first blank.
std::string authenticated(std::string_view question, std::string_view position) {
  return std::string(position) + ' ' + std::string(question);
}

}  // namespace

std::string make_cursor(const webhook::KeyRing& keys, std::string_view question, std::int64_t position) {
  const auto text = std::to_string(position);
  return text + '.' + keys.authenticate(purpose, authenticated(question, text));
}

std::int64_t read_cursor(const webhook::KeyRing& keys, std::string_view question, std::string_view cursor) {
  const auto point = cursor.find('.');
  const auto text = cursor.substr(0, point);
  const auto position = text::parse_number<std::int64_t>(text);
  if (point == std::string_view::npos || !position ||
      !keys.is_authentic(purpose, authenticated(question, text), cursor.substr(point + 1)))
    throw BadRequest("cursor: no es el siguiente de esta misma consulta; pídala de nuevo sin cursor");
  return *position;
}

}  // namespace api
