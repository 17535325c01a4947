#include "dispatcher/schedule/recent_ids.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(recent_ids)

BOOST_AUTO_TEST_CASE(an_id_is_forgotten_at_the_second_call_of_age_after_its_last_note) {
  dispatcher::RecentIds<int> ids(100);
  ids.note(1);
  ids.note(2);
  ids.age();
  ids.note(2);
  BOOST_TEST((ids.contains(1) && ids.contains(2)));
  ids.age();
  BOOST_TEST((!ids.contains(1) && ids.contains(2)));
  ids.forget(2);
  BOOST_TEST(!ids.contains(2));
}

BOOST_AUTO_TEST_CASE(the_last_ids_are_remembered_and_not_many_more) {
  dispatcher::RecentIds<int> ids(100);
  for (int id = 0; id < 1000; ++id) ids.note(id);
  for (int id = 900; id < 1000; ++id) BOOST_TEST(ids.contains(id));
  BOOST_TEST(!ids.contains(799));
}

BOOST_AUTO_TEST_SUITE_END()
