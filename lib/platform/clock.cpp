#include "lib/platform/clock.hpp"

#include <ctime>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <system_error>

#include "lib/text/text.hpp"

namespace platform {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
// format_duration needs the largest unit first.
constexpr std::array<Unit, 5> units{{{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}}};

/// Reads a number from `length` characters, which must be digits: the callers check this with has_shape(). A
/// page of deliveries has hundreds of timestamps, and std::from_chars would take several times as long.
unsigned number_at(std::string_view text, std::size_t at, std::size_t length) {
  unsigned number = 0;
  for (const char digit : text.substr(at, length)) number = number * 10 + static_cast<unsigned>(digit - '0');
  return number;
}

/// Returns what is before the zone; nullopt unless the zone is UTC, in one of its spellings.
std::optional<std::string_view> without_utc(std::string_view text) {
  for (const std::string_view zone : {"Z", "+00:00", "+0000"})
    if (text.ends_with(zone)) return text.substr(0, text.size() - zone.size());
  return std::nullopt;
}

/// Reads a fraction of a second: nothing, or a point and 1 to 9 digits. Digits after the milliseconds are cut
/// off.
std::optional<Milliseconds> parse_fraction(std::string_view text) {
  constexpr std::string_view shape = ".000000000";
  if (text.empty()) return Milliseconds(0);
  if (text.size() == 1 || !text::has_shape(text, shape.substr(0, text.size()))) return std::nullopt;
  std::array<char, 3> digits{'0', '0', '0'};
  std::ranges::copy(text.substr(1, digits.size()), digits.begin());
  return Milliseconds(number_at({digits.data(), digits.size()}, 0, digits.size()));
}

/// Writes the number right-aligned over `length` zeros at `at`; drops digits that do not fit.
void write_number(Iso8601Text& text, std::size_t at, std::size_t length, unsigned number) {
  for (std::size_t i = at + length; i-- > at; number /= 10) text[i] = static_cast<char>('0' + number % 10);
}

}  // namespace

UtcTime utc_now() { return std::chrono::floor<Milliseconds>(std::chrono::system_clock::now()); }

MonotonicTime MonotonicClock::now() {
  timespec time{};
  if (::clock_gettime(CLOCK_BOOTTIME, &time) != 0)
    throw std::system_error(errno, std::generic_category(), "clock_gettime");
  return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

MonotonicTime monotonic_now() { return MonotonicClock::now(); }

Iso8601Text iso8601_text(UtcTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<Milliseconds> clock{time - day};
  Iso8601Text text = std::to_array({'0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 'T', '0',
                                    '0', ':', '0', '0', ':', '0', '0', '.', '0', '0', '0', 'Z'});
  write_number(text, 0, 4, static_cast<unsigned>(static_cast<int>(date.year())));
  write_number(text, 5, 2, static_cast<unsigned>(date.month()));
  write_number(text, 8, 2, static_cast<unsigned>(date.day()));
  write_number(text, 11, 2, static_cast<unsigned>(clock.hours().count()));
  write_number(text, 14, 2, static_cast<unsigned>(clock.minutes().count()));
  write_number(text, 17, 2, static_cast<unsigned>(clock.seconds().count()));
  write_number(text, 20, 3, static_cast<unsigned>(clock.subseconds().count()));
  return text;
}

std::string format_iso8601(UtcTime time) {
  const auto text = iso8601_text(time);
  return {text.begin(), text.end()};
}

std::optional<std::chrono::sys_days> parse_date(std::string_view text) {
  if (!text::has_shape(text, "0000-00-00")) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number_at(text, 0, 4))),
                                         std::chrono::month(number_at(text, 5, 2)),
                                         std::chrono::day(number_at(text, 8, 2))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::optional<UtcTime> parse_iso8601(std::string_view text) {
  constexpr std::size_t to_seconds = 19;
  const auto local = without_utc(text);
  if (!local || local->size() < to_seconds || (*local)[10] != 'T') return std::nullopt;
  const auto date = parse_date(local->substr(0, 10));
  const auto time = parse_time_of_day(local->substr(11, 8));
  const auto fraction = parse_fraction(local->substr(to_seconds));
  if (!date || !time || !fraction) return std::nullopt;
  return *date + *time + *fraction;
}

std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text) {
  if (!text::has_shape(text, "00:00:00")) return std::nullopt;
  const auto hours = number_at(text, 0, 2);
  const auto minutes = number_at(text, 3, 2);
  const auto seconds = number_at(text, 6, 2);
  if (hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  return std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds);
}

std::optional<Milliseconds> parse_duration(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 0 || text.starts_with('-')) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& unit : units) {
    if (suffix != unit.name) continue;
    if (count > std::numeric_limits<std::int64_t>::max() / unit.ms) return std::nullopt;
    return Milliseconds(count * unit.ms);
  }
  return std::nullopt;
}

std::string format_duration(Milliseconds duration) {
  if (duration.count() == 0) return "0s";
  for (const auto& unit : units) {
    if (duration.count() % unit.ms == 0)
      return std::to_string(duration.count() / unit.ms) + std::string(unit.name);
  }
  return std::to_string(duration.count()) + "ms";
}

}  // namespace platform
