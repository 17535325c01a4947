// Times of notifications that are whole hours before their commit, as `config check` and `report` name them.
#include <boost/test/unit_test.hpp>

#include "admin/output/shifted_times_note.hpp"

using namespace std::chrono_literals;
using admin::shifted_times_note;
using store::whole_hours_between;

BOOST_AUTO_TEST_SUITE(shifted_times)

BOOST_AUTO_TEST_CASE(only_whole_hours_within_a_minute_count) {
  const auto off_by = [](auto waited) {
    return whole_hours_between(platform::UtcTime(1000h), platform::UtcTime(1000h + waited)).value_or(0);
  };
  BOOST_TEST(off_by(0s) == 0);
  BOOST_TEST(off_by(30min) == 0);
  BOOST_TEST(off_by(1h) == 1);
  BOOST_TEST(off_by(1h - 4s) == 1);
  BOOST_TEST(off_by(1h - 6s) == 0);
  BOOST_TEST(off_by(2h + 54s) == 2);
  BOOST_TEST(off_by(2h + 56s) == 0);
  BOOST_TEST(off_by(14h) == 14);
  BOOST_TEST(off_by(15h) == 0);
  BOOST_TEST(off_by(-1h) == 0);
}

BOOST_AUTO_TEST_CASE(a_check_names_each_event) {
  BOOST_TEST(shifted_times_note(std::vector<store::ShiftedTimes>{}).empty());
  BOOST_TEST(
      shifted_times_note({{"evaluacion.abierta", 1, 12, 4711}, {"evaluacion.cerrada", 2, 3, 5}}) ==
      "of the last notifications of evaluacion.abierta, 12 have an ocurrida_en of 1 h before their "
      "commit, to the minute (the last is 4711); of those of evaluacion.cerrada, 3 have an ocurrida_en "
      "of 2 h before their commit, to the minute (the last is 5): their writer may have shifted it by "
      "its time zone (docs/drivers.md#times)");
}

BOOST_AUTO_TEST_CASE(a_report_names_what_half_of_its_notifications_are) {
  BOOST_TEST(shifted_times_note({}, 0).empty());
  BOOST_TEST(shifted_times_note({{1, 4}}, 9).empty());
  BOOST_TEST(shifted_times_note({{1, 1}, {2, 5}}, 10).starts_with("5 have an ocurrida_en of 2 h before"));
}

BOOST_AUTO_TEST_SUITE_END()
