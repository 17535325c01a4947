// Ids: numbers with a type for each kind of thing, so that an id of the wrong kind does not compile.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace platform {

/// Costs no more than its number. A signed integer converts to an id implicitly, so that ids can be read from
/// a row, a request or a command line. An id converts to no other kind of id, and to a number only by
/// number(). Counts and lease tokens, which are unsigned, do not convert to ids.
template <class Kind>
class Id {
 public:
  constexpr Id() = default;  ///< 0, the id of no row
  template <std::signed_integral Number>
  constexpr Id(Number number) : number_(number) {}

  constexpr std::int64_t number() const { return number_; }
  constexpr Id next() const { return number_ + 1; }
  constexpr Id previous() const { return number_ - 1; }

  friend constexpr auto operator<=>(Id, Id) = default;  // NOLINT(modernize-use-nullptr): clang 14's mistake
  friend std::string to_string(Id id) { return std::to_string(id.number_); }
  template <class Character, class Traits>
  friend std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& out,
                                                           Id id) {
    return out << id.number_;
  }

 private:
  std::int64_t number_ = 0;
};

}  // namespace platform

template <class Kind>
struct std::hash<platform::Id<Kind>> {
  std::size_t operator()(platform::Id<Kind> id) const noexcept {
    return std::hash<std::int64_t>()(id.number());
  }
};
