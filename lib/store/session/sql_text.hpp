// Joins statements from shared parts at compile time, so that each is one text, prepared once.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace store {

namespace detail {
template <const std::string_view&... parts>
struct JoinedText {
  static constexpr auto characters = [] {
    std::array<char, (parts.size() + ...)> all{};
    auto end = all.begin();
    ((end = std::copy(parts.begin(), parts.end(), end)), ...);
    return all;
  }();
};
}  // namespace detail

/// The parts, concatenated.
template <const std::string_view&... parts>
inline constexpr std::string_view joined{detail::JoinedText<parts...>::characters.data(),
                                         detail::JoinedText<parts...>::characters.size()};

}  // namespace store
