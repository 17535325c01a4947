#include "fcgi-app/health.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <future>
#include <vector>

BOOST_AUTO_TEST_SUITE(health)

namespace {

using namespace std::chrono_literals;

const platform::MonotonicTime start(1h);

struct Database {
  bool answers = true;
  int asked = 0;
  bool good(api::Health& health, platform::MonotonicTime now) {
    return health.good(now, [this](api::DatabaseCheck) { return ++asked, answers; });
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
    return health.good(start + 2s, [&](api::DatabaseCheck) {
      asked.set_value();
      let_go.get_future().wait();
      return false;
    });
  });
  asked.get_future().wait();
  BOOST_TEST(database.good(health, start + 2s));
  BOOST_TEST(database.good(health, start + 2900ms));
  BOOST_TEST(!database.good(health, start + 3s));
  BOOST_TEST(database.asked == 1);  // while one check hangs, no other begins
  let_go.set_value();
  BOOST_TEST(!hanging.get());
}

BOOST_AUTO_TEST_CASE(reads_and_writes_are_tried_by_turns_and_the_requirements_now_and_then) {
  using enum api::DatabaseCheck;
  api::Health health;
  std::vector<api::DatabaseCheck> asked;
  for (int second = 0; second < 24; ++second)
    BOOST_TEST(health.good(start + second * 1s,
                           [&](api::DatabaseCheck check) { return asked.push_back(check), true; }));
  BOOST_TEST(std::ranges::count(asked, requirements) == 3);
  BOOST_TEST((asked[0] == requirements && asked[1] == read && asked[2] == write && asked[3] == read &&
              asked[11] == requirements && asked[22] == requirements));
}

BOOST_AUTO_TEST_CASE(a_failing_check_is_repeated_and_not_hidden_by_others) {
  for (const auto broken :
       {api::DatabaseCheck::requirements, api::DatabaseCheck::read, api::DatabaseCheck::write}) {
    api::Health health;
    bool mended = false;
    const auto ask = [&](api::DatabaseCheck check) { return mended || check != broken; };
    int second = 0;
    while (health.good(start + second * 1s, ask)) BOOST_REQUIRE(++second < 3);
    for (; second < 30; ++second) BOOST_TEST(!health.good(start + second * 1s, ask));
    mended = true;
    BOOST_TEST(health.good(start + second * 1s, ask));
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_known_to_begin_with) {
  api::Health health;
  std::promise<void> let_go;
  std::promise<void> asked;
  auto first = std::async(std::launch::async, [&] {
    return health.good(start, [&](api::DatabaseCheck) {
      asked.set_value();
      let_go.get_future().wait();
      return true;
    });
  });
  asked.get_future().wait();
  BOOST_TEST(!health.good(start, [](api::DatabaseCheck) { return true; }));
  let_go.set_value();
  BOOST_TEST(first.get());
}

BOOST_AUTO_TEST_SUITE_END()
