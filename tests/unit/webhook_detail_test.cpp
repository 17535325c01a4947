#include "fcgi-app/handlers/webhook_detail.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(webhook_detail)

// RFC 9110 sections 13.1.1 and 13.1.2.
BOOST_AUTO_TEST_CASE(what_the_conditions_name) {
  const std::string tag = R"("0f3a")";
  BOOST_TEST(api::are_met({}, tag));
  for (const auto* naming : {"*", " * ", R"("0f3a")", R"("x", "0f3a")", R"("0f3a" ,"x")", R"(,"0f3a",)"}) {
    BOOST_TEST(api::are_met({.if_match = naming}, tag), naming);
    BOOST_TEST(!api::are_met({.if_none_match = naming}, tag), naming);
  }
  for (const auto* other : {"", " ", ",", "0f3a", R"("x")", R"(W/"x")", R"("x", *)", R"("0f3a)"}) {
    BOOST_TEST(!api::are_met({.if_match = other}, tag), other);
    BOOST_TEST(api::are_met({.if_none_match = other}, tag), other);
  }
  BOOST_TEST(!api::are_met({.if_match = R"(W/"0f3a")"}, tag));
  BOOST_TEST(!api::are_met({.if_none_match = R"(W/"0f3a")"}, tag));
  BOOST_TEST(!api::are_met({.if_match = tag, .if_none_match = tag}, tag));
}

BOOST_AUTO_TEST_SUITE_END()
