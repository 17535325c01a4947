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
inline constexpr std::string_view no_lock_wait = "/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */ ";
}  // namespace detail

/// The parts, concatenated.
template <const std::string_view&... parts>
inline constexpr std::string_view joined{detail::JoinedText<parts...>::characters.data(),
                                         detail::JoinedText<parts...>::characters.size()};

/// The statement, which on MariaDB fails at once with LockTimeout where it would wait for a row, a gap or an
/// index entry that another session has locked. MySQL reads the clause as a comment, and waits for a second
/// at least. The time-out is not 0 for the whole session, because MariaDB's SKIP LOCKED would then fail with
/// error 1180 (seen on 10.11).
template <const std::string_view& statement>
inline constexpr std::string_view without_waiting = joined<detail::no_lock_wait, statement>;

}  // namespace store
