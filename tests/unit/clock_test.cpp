#include "lib/platform/clock.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <functional>

#include "tests/unit/child.hpp"

using namespace std::chrono_literals;
using namespace platform;

BOOST_AUTO_TEST_SUITE(clock_test)

BOOST_AUTO_TEST_CASE(instants_are_iso_8601_with_milliseconds) {
  using namespace std::chrono;
  BOOST_TEST(format_iso8601(sys_days(2026y / November / 20) + 10h) == "2026-11-20T10:00:00.000Z");
  BOOST_TEST(format_iso8601(sys_days(2028y / February / 29) + 23h + 59min + 59s + 7ms) ==
             "2028-02-29T23:59:59.007Z");
  BOOST_TEST(format_iso8601(UtcTime{}) == "1970-01-01T00:00:00.000Z");
  BOOST_TEST(format_iso8601(UtcTime{-1ms}) == "1969-12-31T23:59:59.999Z");
}

BOOST_AUTO_TEST_CASE(a_time_in_utc_is_read_as_languages_write_it) {
  const auto read = [](std::string_view text) { return format_iso8601(parse_iso8601(text).value()); };
  for (const auto* text : {"2026-11-20T10:00:00Z", "2026-11-20T10:00:00+00:00", "2026-11-20T10:00:00.0Z",
                           "2026-11-20T10:00:00.000Z", "2026-11-20T10:00:00.000999999+00:00",
                           "2026-11-20T10:00:00+0000", "2026-11-20T10:00:00.000000+0000"})
    BOOST_TEST(read(text) == "2026-11-20T10:00:00.000Z", text);
  BOOST_TEST(read("2026-11-20T10:00:00.5Z") == "2026-11-20T10:00:00.500Z");
  BOOST_TEST(read("2026-11-20T10:00:00.07Z") == "2026-11-20T10:00:00.070Z");
  BOOST_TEST(read("2026-11-20T10:00:00.123456+00:00") == "2026-11-20T10:00:00.123Z");
  BOOST_TEST(read("9999-12-31T23:59:59.999999999Z") == "9999-12-31T23:59:59.999Z");
}

BOOST_AUTO_TEST_CASE(what_is_no_time_in_utc_is_refused) {
  for (const auto* text : {"",
                           "Z",
                           "+00:00",
                           "2026-11-20",
                           "2026-11-20T10:00Z",
                           "2026-11-20T10:00:00",
                           "2026-11-20 10:00:00Z",
                           "2026-11-20t10:00:00Z",
                           "2026-11-20T10:00:00z",
                           "2026-11-20T10:00:00+01:00",
                           "2026-11-20T10:00:00-00:00",
                           "2026-11-20T10:00:00-0000",
                           "2026-11-20T10:00:00+0100",
                           "2026-11-20T10:00:00+00",
                           "2026-11-20T10:00:00 0000",
                           "2026-11-20T10:00:00 00:00",
                           "2026-11-20T10:00:00+00:00Z",
                           "2026-11-20T10:00:00Z+00:00",
                           "2026-11-20T10:00:00.Z",
                           "2026-11-20T10:00:00,5Z",
                           "2026-11-20T10:00:00.5",
                           "2026-11-20T10:00:00.aZ",
                           "2026-11-20T10:00:00.0000000001Z",
                           "2026-11-20T10:00:60Z",
                           "2026-02-30T10:00:00Z",
                           "2026-11-20T24:00:00Z",
                           " 2026-11-20T10:00:00Z",
                           "2026-11-20T10:00:00Z ",
                           "+2026-11-20T10:00:0Z"})
    BOOST_TEST(!parse_iso8601(text), text);
}

BOOST_AUTO_TEST_CASE(now_is_between_two_readings_of_the_system_clock) {
  const auto before = std::chrono::floor<Milliseconds>(std::chrono::system_clock::now());
  const auto now = utc_now();
  BOOST_TEST((before <= now && now <= std::chrono::system_clock::now()));
}

BOOST_AUTO_TEST_CASE(dates_and_times_of_day_are_those_that_exist) {
  using namespace std::chrono;
  BOOST_TEST((parse_date("2028-02-29") == sys_days(2028y / February / 29)));
  for (const auto* none : {"2026-02-29", "2026-00-10", "2026-13-01", "2026-1-01", "2026-11-20 ", ""})
    BOOST_TEST(!parse_date(none), none);
  BOOST_TEST((parse_time_of_day("23:59:59") == 24h - 1s));
  BOOST_TEST((parse_time_of_day("00:00:00") == 0s));
  for (const auto* none : {"24:00:00", "10:60:00", "10:00:60", "10:00", "10:00:0a", ""})
    BOOST_TEST(!parse_time_of_day(none), none);
}

BOOST_AUTO_TEST_CASE(durations_are_read) {
  BOOST_TEST(parse_duration("50ms").value().count() == 50);
  BOOST_TEST(parse_duration("5s").value().count() == 5000);
  BOOST_TEST(parse_duration("30m").value().count() == 1800000);
  BOOST_TEST(parse_duration("2h").value().count() == 7200000);
  BOOST_TEST(parse_duration("5d").value().count() == 432000000);
  BOOST_TEST(parse_duration("0s").value().count() == 0);
  BOOST_TEST(parse_duration("9223372036854775807ms").value().count() == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(what_is_no_duration_is_refused) {
  for (const auto* text : {"",
                           "5",
                           "s",
                           "ms",
                           "-1s",
                           "-0s",
                           "+1s",
                           "1.5s",
                           "1e3s",
                           " 5s",
                           "5s ",
                           "5 s",
                           "5S",
                           "5M",
                           "5sec",
                           "5w",
                           "1h30m",
                           "0x5s",
                           "9223372036854775808ms",
                           "9223372036854775807s",
                           "99999999999999999999d"}) {
    BOOST_TEST_INFO(text);
    BOOST_TEST(!parse_duration(text));
  }
}

BOOST_AUTO_TEST_CASE(the_shortest_spelling_reads_back) {
  BOOST_TEST(format_duration(0ms) == "0s");
  BOOST_TEST(format_duration(50ms) == "50ms");
  BOOST_TEST(format_duration(1500ms) == "1500ms");
  BOOST_TEST(format_duration(90s) == "90s");
  BOOST_TEST(format_duration(60s) == "1m");
  BOOST_TEST(format_duration(10h) == "10h");
  BOOST_TEST(format_duration(24h) == "1d");
  for (const auto value : {0ms, 1ms, 999ms, 1000ms, 60000ms, 61000ms, 86400000ms, Milliseconds(INT64_MAX)})
    BOOST_TEST(parse_duration(format_duration(value)).value().count() == value.count());
}

/// Calls `holds` in a time namespace where the machine seems to have been suspended for `seconds`. Returns 0
/// if `holds` returns true, 1 if false, 97 if no such namespace can be made, 98 if a signal ended the child.
int with_time_suspended(long seconds, const std::function<bool()>& holds) {
  if (::unshare(CLONE_NEWTIME) != 0) return 97;
  std::ofstream("/proc/self/timens_offsets") << "boottime " << seconds << " 0" << std::endl;
  const auto inside = ::fork();  // unshare() moves only later children into the namespace
  if (inside == 0) ::_exit(holds() ? 0 : 1);
  int status = -1;
  ::waitpid(inside, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

BOOST_AUTO_TEST_CASE(the_monotonic_clock_goes_on_while_the_machine_is_suspended) {
  constexpr long suspended = 100'000;
  const auto before = platform::monotonic_now();
  const auto result = unit::run_in_child([&] {
    return with_time_suspended(
        suspended, [&] { return platform::monotonic_now() - before >= std::chrono::seconds(suspended); });
  });
  if (result.status == 97) {
    BOOST_TEST_MESSAGE("skipped: only root may make a time namespace");
    return;
  }
  BOOST_TEST(result.status == 0, result.err);
}

BOOST_AUTO_TEST_SUITE_END()
