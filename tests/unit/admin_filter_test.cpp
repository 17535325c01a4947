#include "admin/input/filter.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "admin/errors.hpp"

BOOST_AUTO_TEST_SUITE(admin_filter)

namespace {

constexpr std::string_view states[] = {"pendiente", "fallida"};
const platform::UtcTime now =
    std::chrono::sys_days(std::chrono::year(2026) / 11 / 20) + std::chrono::hours(10);

std::string since(std::string_view text) { return platform::format_iso8601(admin::parse_since(text, now)); }

store::ListFilter filter(std::map<std::string, std::string, std::less<>> typed) {
  return admin::read_filter(admin::Arguments(std::move(typed), false), states, now);
}

json::Value to_row(int id) { return json::Object{{"id", id}}; }

}  // namespace

BOOST_AUTO_TEST_CASE(since_takes_a_time_a_date_or_a_duration) {
  BOOST_TEST(since("2026-11-20T09:08:07Z") == "2026-11-20T09:08:07.000Z");
  BOOST_TEST(since("2026-11-20T09:08:07.250Z") == "2026-11-20T09:08:07.250Z");
  BOOST_TEST(since("2024-02-29") == "2024-02-29T00:00:00.000Z");
  BOOST_TEST(since("2h") == "2026-11-20T08:00:00.000Z");
  BOOST_TEST(since("3d") == "2026-11-17T10:00:00.000Z");
}

BOOST_AUTO_TEST_CASE(since_refuses_what_is_no_utc_time) {
  for (const std::string text : {"", "yesterday", "2026-02-30", "2026-1-5", "2026-11-20T24:00:00Z",
                                 "2026-11-20T10:60:00Z", "2026-11-20T10:00:00", "2026-11-20T10:00:00+01:00",
                                 "2026-11-20 10:00:00Z", " 2026-11-20", "2h ago", "-2h", "99999999d"})
    BOOST_TEST_CONTEXT("'" << text << "'") { BOOST_CHECK_THROW(since(text), admin::UsageError); }
}

BOOST_AUTO_TEST_CASE(every_filter_is_read) {
  const auto read = filter({{"entity", "7"},
                            {"webhook", "3"},
                            {"notification", "42"},
                            {"state", "fallida"},
                            {"since", "2026-11-01"},
                            {"limit", "5"}});
  BOOST_TEST(read.entity.value() == 7);
  BOOST_TEST(read.webhook.value() == 3);
  BOOST_TEST(read.notification.value() == 42);
  BOOST_TEST(read.state.value() == "fallida");
  BOOST_TEST(platform::format_iso8601(read.since.value()) == "2026-11-01T00:00:00.000Z");
  BOOST_TEST(read.limit == 5U);
  BOOST_TEST(filter({}).limit == 100U);
}

BOOST_AUTO_TEST_CASE(an_unknown_state_is_answered_with_the_known_ones) {
  try {
    filter({{"state", "Fallida"}});
    BOOST_ERROR("an unknown state was accepted");
  } catch (const admin::UsageError& e) {
    BOOST_TEST(std::string(e.what()) == "--state must be one of pendiente, fallida, not 'Fallida'");
  }
}

BOOST_AUTO_TEST_CASE(limits_of_the_limit) {
  BOOST_CHECK_THROW(filter({{"limit", "0"}}), admin::UsageError);
  BOOST_CHECK_THROW(filter({{"limit", "4294967296"}}), admin::UsageError);
}

BOOST_AUTO_TEST_CASE(a_list_that_is_cut_shows_the_newest_and_says_so) {
  store::ListFilter two;
  two.limit = 2;
  BOOST_TEST(admin::one_more(two).limit == 3U);
  const auto cut = admin::list_result(std::vector<int>{1, 2, 3}, two, to_row);
  BOOST_TEST(json::dump(cut.value) == R"([{"id":2},{"id":3}])");
  BOOST_TEST(!cut.note.empty());
  const auto whole = admin::list_result(std::vector<int>{1, 2}, two, to_row);
  BOOST_TEST(json::dump(whole.value) == R"([{"id":1},{"id":2}])");
  BOOST_TEST(whole.note.empty());
}

BOOST_AUTO_TEST_SUITE_END()
