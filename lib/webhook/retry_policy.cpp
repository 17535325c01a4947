#include "webhook/retry_policy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace webhook {

namespace {

using platform::Milliseconds;
using platform::UtcTime;

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> long_days{"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                    "Friday", "Saturday", "Sunday"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a text from left to right; once something did not match, everything fails.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void literal(std::string_view expected) {
    ok_ = ok_ && rest_.starts_with(expected);
    if (ok_) rest_.remove_prefix(expected.size());
  }
  /// The position in `names`, each of which begins no other.
  template <std::size_t n>
  unsigned one_of(const std::array<std::string_view, n>& names) {
    const auto* found =
        std::find_if(names.begin(), names.end(), [this](auto x) { return rest_.starts_with(x); });
    ok_ = ok_ && found != names.end();
    if (!ok_) return 0;
    rest_.remove_prefix(found->size());
    return static_cast<unsigned>(found - names.begin());
  }
  /// Exactly `width` digits.
  int number(std::size_t width) {
    ok_ = ok_ && rest_.size() >= width && std::all_of(rest_.begin(), rest_.begin() + width, is_digit);
    if (!ok_) return 0;
    int value = 0;
    for (const char c : rest_.substr(0, width)) value = value * 10 + (c - '0');
    rest_.remove_prefix(width);
    return value;
  }
  bool next_is(char c) const { return rest_.starts_with(c); }
  bool finished() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// As written: not yet known to exist. The name of the day is not compared with the date, as RFC 9110 asks no
/// one to.
struct HttpDate {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;

  std::chrono::year_month_day calendar_day() const {
    return std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
  }
  UtcTime instant() const {
    return std::chrono::sys_days(calendar_day()) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second);
  }
  bool exists() const {  // 60: a leap second
    return calendar_day().ok() && hour <= 23 && minute <= 59 && second <= 60;
  }
};

void read_time(Reader& reader, HttpDate& date) {
  date.hour = reader.number(2);
  reader.literal(":");
  date.minute = reader.number(2);
  reader.literal(":");
  date.second = reader.number(2);
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
std::optional<HttpDate> read_imf_fixdate(std::string_view text) {
  Reader reader(text);
  HttpDate date;
  reader.one_of(days);
  reader.literal(", ");
  date.day = static_cast<unsigned>(reader.number(2));
  reader.literal(" ");
  date.month = reader.one_of(months) + 1;
  reader.literal(" ");
  date.year = reader.number(4);
  reader.literal(" ");
  read_time(reader, date);
  reader.literal(" GMT");
  return reader.finished() ? std::optional(date) : std::nullopt;
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`: the latest such year that is at most 50 years ahead of `now`.
std::optional<HttpDate> read_rfc850(std::string_view text, UtcTime now) {
  Reader reader(text);
  HttpDate date;
  reader.one_of(long_days);
  reader.literal(", ");
  date.day = static_cast<unsigned>(reader.number(2));
  reader.literal("-");
  date.month = reader.one_of(months) + 1;
  reader.literal("-");
  const int two_digits = reader.number(2);
  reader.literal(" ");
  read_time(reader, date);
  reader.literal(" GMT");
  if (!reader.finished()) return std::nullopt;
  const auto limit = now + std::chrono::years(50);
  const std::chrono::year_month_day last_day(std::chrono::floor<std::chrono::days>(limit));
  date.year = static_cast<int>(last_day.year()) / 100 * 100 + two_digits;
  if (date.instant() > limit) date.year -= 100;
  return date;
}

/// `Sun Nov  6 08:49:37 1994`
std::optional<HttpDate> read_asctime(std::string_view text) {
  Reader reader(text);
  HttpDate date;
  reader.one_of(days);
  reader.literal(" ");
  date.month = reader.one_of(months) + 1;
  reader.literal(" ");
  if (reader.next_is(' ')) {
    reader.literal(" ");
    date.day = static_cast<unsigned>(reader.number(1));
  } else {
    date.day = static_cast<unsigned>(reader.number(2));
  }
  reader.literal(" ");
  read_time(reader, date);
  reader.literal(" ");
  date.year = reader.number(4);
  return reader.finished() ? std::optional(date) : std::nullopt;
}

/// RFC 9110 section 5.6.7: all three must be read.
std::optional<UtcTime> parse_http_date(std::string_view text, UtcTime now) {
  auto date = read_imf_fixdate(text);
  if (!date) date = read_rfc850(text, now);
  if (!date) date = read_asctime(text);
  return date && date->exists() ? std::optional(date->instant()) : std::nullopt;
}

Milliseconds parse_delay_seconds(std::string_view digits) {
  constexpr std::int64_t most = Milliseconds::max().count() / 1000;
  std::int64_t seconds = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (result.ec == std::errc::result_out_of_range || seconds > most) return Milliseconds::max();
  return std::chrono::seconds(seconds);
}

Milliseconds jittered(Milliseconds wait, double jitter, double chance) {
  const double factor = 1.0 - jitter + 2.0 * jitter * chance;
  return Milliseconds(static_cast<std::int64_t>(static_cast<double>(wait.count()) * factor));
}

}  // namespace

std::optional<Milliseconds> next_attempt(const RetryPolicy& policy, unsigned failures, bool test_event,
                                         double chance, std::optional<Milliseconds> retry_after) {
  std::size_t retries = policy.schedule.size();
  if (test_event) retries = std::min<std::size_t>(retries, test_event_retries);
  const std::size_t retry = std::max(failures, 1U);
  if (retry > retries) return std::nullopt;
  const auto wait = jittered(policy.schedule[retry - 1], policy.jitter, chance);
  return std::max(wait, std::min(retry_after.value_or(Milliseconds{}), policy.retry_after_max));
}

std::optional<Milliseconds> parse_retry_after(std::string_view value, UtcTime now) {
  if (value.empty()) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), is_digit)) return parse_delay_seconds(value);
  const auto date = parse_http_date(value, now);
  if (!date) return std::nullopt;
  return std::max(*date - now, Milliseconds{});
}

}  // namespace webhook
