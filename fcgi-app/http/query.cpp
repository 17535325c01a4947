#include "fcgi-app/http/query.hpp"

#include <algorithm>
#include <utility>

#include "fcgi-app/http/errors.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/text/text.hpp"
#include "lib/text/utf8.hpp"

namespace api {

namespace {

std::string decoded(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto end = std::min(text.find('%'), text.size());
    result.append(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    const auto byte = crypto::from_hex(text.substr(1, 2));
    if (!byte || byte->size() != 1)
      throw BadRequest(
          "La consulta no está bien codificada: tras cada % debe haber dos cifras hexadecimales");
    result += *byte;
    text.remove_prefix(3);
  }
  if (!text::count_characters(result))
    throw BadRequest("La consulta no está bien codificada: debe ser UTF-8");
  return result;
}

/// Leaves what RFC 3986 section 2.3 calls unreserved, and the colon, as it is.
std::string encoded(std::string_view text) {
  constexpr std::string_view kept = "-._~:";
  std::string result;
  for (const char c : text) {
    const bool plain = text::is_letter(c) || text::is_digit(c) || kept.find(c) != std::string_view::npos;
    result += plain ? std::string(1, c) : "%" + crypto::to_hex(std::string_view(&c, 1));
  }
  return result;
}

std::string joined(std::initializer_list<std::string_view> words) {
  std::string result;
  for (const auto word : words) result += (result.empty() ? "" : ", ") + std::string(word);
  return result;
}

}  // namespace

Query::Query(std::string_view text, std::initializer_list<std::string_view> known) {
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals));
    const bool is_known = std::ranges::find(known, std::string_view(name)) != known.end();
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (known.size() == 0) throw BadRequest("Este recurso no admite parámetros en la consulta");
    if (!is_known || !values_.emplace(std::move(name), std::move(value)).second)
      throw BadRequest("La consulta solo admite estos parámetros, cada uno una vez: " + joined(known));
  }
}

std::optional<std::string> Query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> Query::one_of(std::string_view name,
                                         std::initializer_list<std::string_view> values) const {
  auto value = text(name);
  if (value && std::ranges::find(values, std::string_view(*value)) == values.end())
    throw BadRequest(std::string(name) + ": los valores admitidos son " + joined(values));
  return value;
}

std::optional<platform::UtcTime> Query::time(std::string_view name) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const auto time = platform::parse_iso8601(*value);
  if (!time)
    throw BadRequest(std::string(name) + ": debe ser una fecha y hora en UTC, como 2026-11-20T10:00:00Z");
  return time;
}

std::optional<unsigned> Query::number(std::string_view name, unsigned minimum, unsigned maximum) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const auto number = text::parse_number<unsigned>(*value);
  if (!number || *number < minimum || *number > maximum)
    throw BadRequest(std::string(name) + ": debe ser un número entero de " + std::to_string(minimum) + " a " +
                     std::to_string(maximum));
  return number;
}

std::string Query::without(std::string_view name) const {
  std::string text;
  for (const auto& [other, value] : values_)
    if (other != name) text += encoded(other) + "=" + encoded(value) + "&";
  return text;
}

void refuse_parameters(std::string_view text) { Query(text, {}); }

}  // namespace api
