#include "fcgi-app/handlers/cursor.hpp"

#include <boost/test/unit_test.hpp>

#include "fcgi-app/http/errors.hpp"

BOOST_AUTO_TEST_SUITE(cursor)

namespace {

const std::string old_key = "old:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
const std::string new_key = "new:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_cursor_gives_its_position_in_its_own_query_only) {
  const auto keys = webhook::KeyRing::parse(old_key);
  const auto cursor = api::make_cursor(keys, "entregas 7", 123);
  BOOST_TEST(api::read_cursor(keys, "entregas 7", cursor) == 123);
  BOOST_CHECK_THROW(api::read_cursor(keys, "entregas 8", cursor), api::BadRequest);
}

BOOST_AUTO_TEST_CASE(a_forged_cursor_is_refused) {
  const auto keys = webhook::KeyRing::parse(old_key);
  const auto cursor = api::make_cursor(keys, "q", 123);
  const auto code = cursor.substr(cursor.find('.'));
  for (const auto& forged :
       {"124" + code, "0123" + code, "+123" + code, cursor + "0", cursor.substr(0, cursor.size() - 1),
        std::string("123"), std::string("123."), std::string("."), std::string()})
    BOOST_CHECK_THROW(api::read_cursor(keys, "q", forged), api::BadRequest);
  BOOST_CHECK_THROW(api::read_cursor(webhook::KeyRing::parse(new_key), "q", cursor), api::BadRequest);
}

BOOST_AUTO_TEST_CASE(a_cursor_outlives_a_key_rotation) {
  const auto cursor = api::make_cursor(webhook::KeyRing::parse(old_key), "q", 5);
  BOOST_TEST(api::read_cursor(webhook::KeyRing::parse(new_key + old_key), "q", cursor) == 5);
}

BOOST_AUTO_TEST_SUITE_END()
