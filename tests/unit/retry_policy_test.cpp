#include "lib/delivery/retry_policy.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(retry_policy)

namespace {

using namespace std::chrono_literals;
using delivery::RetryPolicy;
using platform::Milliseconds;
using platform::UtcTime;

const RetryPolicy policy{{5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h}, 0.2, 24h};
constexpr double middle = 0.5;

/// In ms; -1 when there is no next attempt.
std::int64_t wait_ms(unsigned failures, double chance = middle, std::optional<Milliseconds> retry_after = {},
                     bool test_event = false) {
  const auto wait = delivery::next_attempt(policy, failures, test_event, chance, retry_after);
  return wait ? wait->count() : -1;
}

UtcTime at(int year, unsigned month, unsigned day, Milliseconds time_of_day = 0ms) {
  return std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day)) +
         time_of_day;
}

const UtcTime date = at(1994, 11, 6, 8h + 49min + 37s);  // the date of RFC 9110's examples

/// In ms; -1 when malformed.
std::int64_t asked_ms(std::string_view value, UtcTime now = date - 90s) {
  const auto wait = delivery::parse_retry_after(value, now);
  return wait ? wait->count() : -1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(follows_the_schedule_and_then_gives_up) {
  for (unsigned failures = 1; failures <= policy.schedule.size(); ++failures) {
    BOOST_TEST(wait_ms(failures) == policy.schedule[failures - 1].count());
  }
  BOOST_TEST(wait_ms(0) == 5000);  // the contract excludes 0, but 0 must not end the retries
  BOOST_TEST(wait_ms(10) == -1);
  BOOST_TEST(wait_ms(4000000000) == -1);
}

BOOST_AUTO_TEST_CASE(jitter_spreads_both_ways) {
  BOOST_TEST(wait_ms(1, 0.0) == 4000);
  BOOST_TEST(wait_ms(1, 0.25) == 4500);
  BOOST_TEST(wait_ms(1, 0.999999) == 5999);
  const RetryPolicy exact{{5s}, 0.0, 24h};
  BOOST_TEST(delivery::next_attempt(exact, 1, false, 0.9, {}).value().count() == 5000);
  const RetryPolicy wide{{5s}, 1.0, 24h};
  BOOST_TEST(delivery::next_attempt(wide, 1, false, 0.0, {}).value().count() == 0);
}

BOOST_AUTO_TEST_CASE(a_test_event_is_retried_twice) {
  BOOST_TEST(wait_ms(1, middle, {}, true) == 5000);
  BOOST_TEST(wait_ms(2, middle, {}, true) == 300000);
  BOOST_TEST(wait_ms(3, middle, {}, true) == -1);
  const RetryPolicy once{{5s}, 0.2, 24h};
  BOOST_TEST(!delivery::next_attempt(once, 2, true, middle, {}).has_value());
}

BOOST_AUTO_TEST_CASE(an_empty_schedule_never_retries) {
  const RetryPolicy none{{}, 0.2, 24h};
  BOOST_TEST(!delivery::next_attempt(none, 1, false, middle, {}).has_value());
  BOOST_TEST(!delivery::next_attempt(none, 1, true, middle, 10s).has_value());
}

BOOST_AUTO_TEST_CASE(retry_after_is_a_minimum) {
  BOOST_TEST(wait_ms(1, middle, 1min) == 60000);
  BOOST_TEST(wait_ms(1, 0.0, 1s) == 4000);
  BOOST_TEST(wait_ms(1, 0.999999, 5s) == 5999);
  BOOST_TEST(wait_ms(1, middle, 0ms) == 5000);
}

BOOST_AUTO_TEST_CASE(retry_after_is_bounded) {
  BOOST_TEST(wait_ms(1, middle, 25h) == Milliseconds(24h).count());
  BOOST_TEST(wait_ms(1, middle, Milliseconds::max()) == Milliseconds(24h).count());
  BOOST_TEST(wait_ms(9, 0.999999, 48h) > Milliseconds(24h).count());  // the schedule's wait has no such bound
  const RetryPolicy strict{{1min}, 0.0, 10s};
  BOOST_TEST(delivery::next_attempt(strict, 1, false, middle, 1h).value().count() == 60000);
}

BOOST_AUTO_TEST_CASE(retry_after_does_not_prolong_the_schedule) { BOOST_TEST(wait_ms(10, middle, 1s) == -1); }

BOOST_AUTO_TEST_CASE(seconds) {
  BOOST_TEST(asked_ms("0") == 0);
  BOOST_TEST(asked_ms("120") == 120000);
  BOOST_TEST(asked_ms("000000000000000000000000000005") == 5000);
  for (const auto* huge : {"9223372036854776", "9223372036854775807", "9223372036854775808",
                           "18446744073709551617", "99999999999999999999999999999999999999"}) {
    BOOST_TEST(asked_ms(huge) == Milliseconds::max().count(), huge);
  }
  BOOST_TEST(asked_ms("9223372036854775") == 9223372036854775000);
}

BOOST_AUTO_TEST_CASE(decimals_are_rounded_up) {
  BOOST_TEST(asked_ms("1.5") == 2000);
  BOOST_TEST(asked_ms("1.0001") == 2000);
  BOOST_TEST(asked_ms("1.0") == 1000);
  BOOST_TEST(asked_ms("0.1") == 1000);
  BOOST_TEST(asked_ms("9223372036854774.1") == 9223372036854775000);
  BOOST_TEST(asked_ms("9223372036854775.1") == Milliseconds::max().count());
}

BOOST_AUTO_TEST_CASE(the_three_forms_of_a_date) {
  for (const auto* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    BOOST_TEST(asked_ms(text) == 90000, text);
    BOOST_TEST(asked_ms(text, date - 1ms) == 1, text);
    BOOST_TEST(asked_ms(text, date) == 0, text);
    BOOST_TEST(asked_ms(text, date + 1h) == 0, text);
  }
  for (const auto* text : {"Sun, 06 Nov 300000000 08:49:37 GMT", "Sun, 06 Nov 2147483647 08:49:37 GMT"})
    BOOST_TEST(asked_ms(text, at(2026, 1, 1)) != 0, text);  // huge or malformed, depending on libcurl
  BOOST_TEST(asked_ms("Wed Nov 16 08:49:37 1994", date) == Milliseconds(240h).count());
  BOOST_TEST(asked_ms("Fri, 31 Dec 1999 23:59:59 GMT", at(1999, 12, 31)) == 86399000);
  BOOST_TEST(asked_ms("Thu, 31 Dec 1998 23:59:60 GMT", at(1998, 12, 31)) == 86400000);  // a leap second
  BOOST_TEST(asked_ms("Tue, 29 Feb 2000 00:00:00 GMT", at(2000, 2, 28)) == 86400000);
  BOOST_TEST(asked_ms("Fri, 31 Dec 9999 23:59:59 GMT", at(2026, 1, 1)) > Milliseconds(24h).count());
}

BOOST_AUTO_TEST_CASE(every_name_of_a_month_and_a_day) {
  const char* const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (unsigned i = 0; i < 12; ++i) {
    const std::string text = std::string("Mon, 02 ") + months[i] + " 2023 00:00:00 GMT";
    BOOST_TEST(asked_ms(text, at(2023, i + 1, 1)) == 86400000, text);
  }
  for (const auto* day : {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}) {
    BOOST_TEST(asked_ms(std::string(day).substr(0, 3) + ", 06 Nov 1994 08:49:37 GMT") == 90000, day);
    BOOST_TEST(asked_ms(std::string(day) + ", 06-Nov-94 08:49:37 GMT") == 90000, day);
  }
}

BOOST_AUTO_TEST_CASE(malformed) {
  for (const auto* text : {"",
                           " ",
                           "-1",
                           "+1",
                           "1.",
                           ".5",
                           "1.5.",
                           "1.-5",
                           "1,5",
                           "1 ",
                           " 1",
                           "1s",
                           "0x10",
                           "1e3",
                           "١",
                           "soon",
                           "GMT",
                           "Dom, 06 Nov 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:00:00 GMT",
                           "Sun, 06 Nov 1994 08:60:00 GMT",
                           "Sun, 00 Nov 1994 08:49:37 GMT",
                           "Sun, 99 Nov 1994 08:49:37 GMT"}) {
    BOOST_TEST(asked_ms(text) == -1, text);
  }
  BOOST_TEST(asked_ms(std::string_view("1\0", 2)) == -1);
}

BOOST_AUTO_TEST_SUITE_END()
