// The query string of a request (RFC 3986 section 3.4) as names and values. Pure.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/platform/clock.hpp"

namespace api {

/// Read strictly: what is misspelt, and silently ignored, would answer another question. The readers throw
/// BadRequest, which names the parameter.
class Query {
 public:
  /// Of `text`, names and values percent-decoded. Throws BadRequest: a name that is not one of `known`, twice
  /// the same, or not well encoded.
  Query(std::string_view text, std::initializer_list<std::string_view> known);

  std::optional<std::string> text(std::string_view name) const;
  /// One of `values`.
  std::optional<std::string> one_of(std::string_view name,
                                    std::initializer_list<std::string_view> values) const;
  /// `2026-11-20T10:00:00Z`, or with milliseconds.
  std::optional<platform::UtcTime> time(std::string_view name) const;
  /// Between the limits, both included.
  std::optional<unsigned> number(std::string_view name, unsigned minimum, unsigned maximum) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace api
