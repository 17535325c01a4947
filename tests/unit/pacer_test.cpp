#include "dispatcher/scan/pacer.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(pacer)

namespace {

using dispatcher::Pacer;
using platform::Milliseconds;
using platform::MonotonicTime;

const MonotonicTime start{std::chrono::hours(1)};

MonotonicTime at(int milliseconds) { return start + Milliseconds(milliseconds); }

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_is_due_at_once) { BOOST_TEST(Pacer(5).due(start)); }

BOOST_AUTO_TEST_CASE(a_cheap_one_comes_back_after_the_least_wait) {
  Pacer pacer(5);
  pacer.ran(at(0), at(1), Milliseconds(50), Milliseconds(5000));
  BOOST_TEST(!pacer.due(at(50)));
  BOOST_TEST(pacer.due(at(51)));
}

BOOST_AUTO_TEST_CASE(a_costly_one_keeps_to_its_share) {
  Pacer pacer(5);
  pacer.ran(at(0), at(100), Milliseconds(50), Milliseconds(5000));  // 100 ms of every 2000
  BOOST_TEST(!pacer.due(at(1999)));
  BOOST_TEST(pacer.due(at(2000)));
}

// One slow disk access must not delay the next run by seconds.
BOOST_AUTO_TEST_CASE(one_slow_run_does_not_put_off_the_next_for_long) {
  Pacer pacer(5);
  pacer.ran(at(0), at(1000), Milliseconds(50), Milliseconds(200));
  BOOST_TEST(!pacer.due(at(1199)));
  BOOST_TEST(pacer.due(at(1200)));
}

BOOST_AUTO_TEST_SUITE_END()
