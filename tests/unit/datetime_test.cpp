#include "lib/store/session/datetime.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace store;

BOOST_AUTO_TEST_SUITE(datetime_test)

BOOST_AUTO_TEST_CASE(a_time_is_read_as_it_was_written) {
  using namespace std::chrono;
  const platform::UtcTime time = sys_days(2028y / February / 29) + 23h + 59min + 58s + 7ms;
  BOOST_TEST(format_datetime(time) == "2028-02-29 23:59:58.007");
  for (const auto instant : {time, platform::UtcTime{}, platform::UtcTime{-1ms},
                             platform::UtcTime(sys_days(9999y / December / 31) + 1ms)})
    BOOST_TEST((parse_datetime(format_datetime(instant)) == instant));
}

BOOST_AUTO_TEST_CASE(a_day_that_the_calendar_lacks_is_none) {
  for (const auto* text : {"0000-00-00 00:00:00.000", "2026-02-30 10:00:00.000", "2026-00-15 00:00:00.000",
                           "2026-13-01 00:00:00.000", "2026-02-29 00:00:00.000"})
    BOOST_TEST(!parse_datetime(text));
}

BOOST_AUTO_TEST_CASE(text_of_another_form_is_refused) {
  for (const auto* text :
       {"", "2026-11-20", "2026-11-20 10:00:00", "2026-11-20 10:00:00.12", "2026-11-20 10:00:00.123456",
        "2026-11-20T10:00:00.000", "2026-11-20 10:00:00.000Z", " 2026-11-20 10:00:00.00", "1763632800123"}) {
    BOOST_TEST_INFO(text);
    BOOST_CHECK_THROW(parse_datetime(text), std::runtime_error);
  }
}

BOOST_AUTO_TEST_SUITE_END()
