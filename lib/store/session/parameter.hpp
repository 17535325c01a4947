// The parameters of prepared statements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/platform/clock.hpp"
#include "lib/platform/id.hpp"
#include "lib/store/session/datetime.hpp"

namespace store {

using platform::UtcTime;

/// A parameter. Pass binary values as hex (`UNHEX(?)`), so that no connection charset changes them. Values
/// that are read from binary columns need no such care.
class Parameter {
 public:
  enum class Kind { null, integer, unsigned_integer, text };

  Parameter(std::nullptr_t) {}
  Parameter(std::int64_t v) : kind(Kind::integer), number(static_cast<std::uint64_t>(v)) {}
  Parameter(std::uint64_t v) : kind(Kind::unsigned_integer), number(v) {}
  Parameter(int v) : Parameter(std::int64_t{v}) {}
  template <class Kind>
  Parameter(platform::Id<Kind> id) : Parameter(id.number()) {}
  Parameter(unsigned v) : Parameter(std::uint64_t{v}) {}
  Parameter(bool v) : Parameter(std::int64_t{v}) {}
  Parameter(std::string_view v) : kind(Kind::text), text(v) {}
  Parameter(const std::string& v) : Parameter(std::string_view(v)) {}
  Parameter(const char* v) : Parameter(std::string_view(v)) {}
  Parameter(UtcTime v) : Parameter(format_datetime(v)) {}
  template <class T>
  Parameter(const std::optional<T>& v) {
    if (v) *this = Parameter(*v);
  }

  Kind kind = Kind::null;
  std::uint64_t number = 0;  // the bits of either integer kind
  std::string text;
};

}  // namespace store
