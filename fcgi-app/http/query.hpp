// Reads the query string of a request (RFC 3986 section 3.4). Pure.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/platform/clock.hpp"

namespace api {

/// Reads strictly, because ignoring a misspelt parameter would answer another question. The readers return
/// nullopt for an absent parameter. For a wrong value they throw BadRequest, which names the parameter.
class Query {
 public:
  /// Percent-decodes the names and values of `text`. Throws BadRequest for a name that is not in `known`, a
  /// repeated name, or a wrong encoding.
  Query(std::string_view text, std::initializer_list<std::string_view> known);

  std::optional<std::string> text(std::string_view name) const;
  /// Requires one of `values`.
  std::optional<std::string> one_of(std::string_view name,
                                    std::initializer_list<std::string_view> values) const;
  /// Reads `2026-11-20T10:00:00Z`, with or without milliseconds.
  std::optional<platform::UtcTime> time(std::string_view name) const;
  /// Requires a number from `minimum` to `maximum`, both included.
  std::optional<unsigned> number(std::string_view name, unsigned minimum, unsigned maximum) const;
  /// The other parameters, encoded, each with a `&` after it.
  std::string without(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Throws BadRequest for any parameter in `text`.
void refuse_parameters(std::string_view text);

}  // namespace api
