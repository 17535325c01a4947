#include "fcgi-app/health.hpp"

#include <boost/test/unit_test.hpp>
#include <future>

BOOST_AUTO_TEST_SUITE(health)

namespace {

using namespace std::chrono_literals;

const platform::MonotonicTime start(1h);

struct Database {
  bool answers = true;
  int asked = 0;
  bool good(api::Health& health, platform::MonotonicTime now) {
    return health.good(now, [this] { return ++asked, answers; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_database_is_asked_once_a_second_at_most) {
  api::Health health;
  Database database;
  for (int i = 0; i < 100; ++i) BOOST_TEST(database.good(health, start + i * 10ms));
  BOOST_TEST(database.asked == 1);
  BOOST_TEST(database.good(health, start + 1s));
  BOOST_TEST(database.asked == 2);
}

BOOST_AUTO_TEST_CASE(it_turns_bad_and_good_again) {
  api::Health health;
  Database database;
  BOOST_TEST(database.good(health, start));
  database.answers = false;
  BOOST_TEST(!database.good(health, start + 1s));
  BOOST_TEST(!database.good(health, start + 1500ms));
  BOOST_TEST(database.asked == 2);
  database.answers = true;
  BOOST_TEST(database.good(health, start + 2s));
}

BOOST_AUTO_TEST_CASE(while_the_database_hangs_the_last_answer_soon_expires) {
  api::Health health;
  Database database;
  BOOST_TEST(database.good(health, start));
  std::promise<void> asked;
  std::promise<void> let_go;
  auto hanging = std::async(std::launch::async, [&] {
    return health.good(start + 2s, [&] {
      asked.set_value();
      let_go.get_future().wait();
      return false;
    });
  });
  asked.get_future().wait();
  BOOST_TEST(database.good(health, start + 2s));
  BOOST_TEST(database.good(health, start + 2900ms));
  BOOST_TEST(!database.good(health, start + 3s));
  BOOST_TEST(database.asked == 1);  // nobody else asks meanwhile
  let_go.set_value();
  BOOST_TEST(!hanging.get());
}

BOOST_AUTO_TEST_CASE(nothing_is_known_to_begin_with) {
  api::Health health;
  std::promise<void> let_go;
  std::promise<void> asked;
  auto first = std::async(std::launch::async, [&] {
    return health.good(start, [&] {
      asked.set_value();
      let_go.get_future().wait();
      return true;
    });
  });
  asked.get_future().wait();
  BOOST_TEST(!health.good(start, [] { return true; }));
  let_go.set_value();
  BOOST_TEST(first.get());
}

BOOST_AUTO_TEST_SUITE_END()
