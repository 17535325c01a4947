#include "store/session/datetime.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>

namespace store {

namespace {

constexpr std::string_view form = "0000-00-00 00:00:00.000";  // a 0 stands for any digit

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Of digits alone.
int number(std::string_view digits) {
  int value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  return value;
}

}  // namespace

std::string format_datetime(platform::UtcTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<platform::Milliseconds> clock{time - day};
  std::array<char, 64> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%03d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::optional<platform::UtcTime> parse_datetime(std::string_view text) {
  using namespace std::chrono;
  const bool formed =
      std::ranges::equal(text, form, [](char c, char f) { return f == '0' ? is_digit(c) : c == f; });
  if (!formed) throw std::runtime_error("not a DATETIME(3): " + std::string(text));
  const year_month_day date{year(number(text.substr(0, 4))),
                            month(static_cast<unsigned>(number(text.substr(5, 2)))),
                            day(static_cast<unsigned>(number(text.substr(8, 2))))};
  if (!date.ok()) return std::nullopt;
  return sys_days(date) + hours(number(text.substr(11, 2))) + minutes(number(text.substr(14, 2))) +
         seconds(number(text.substr(17, 2))) + milliseconds(number(text.substr(20, 3)));
}

}  // namespace store
