#include "fcgi-app/handlers/webhook_detail.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(webhook_detail)

// RFC 9110 section 13.1.1.
BOOST_AUTO_TEST_CASE(what_if_match_names) {
  const std::string tag = R"("0f3a")";
  BOOST_TEST(api::is_expected(std::nullopt, tag));
  for (const auto* naming : {"*", " * ", R"("0f3a")", R"("x", "0f3a")", R"("0f3a" ,"x")", R"(,"0f3a",)"})
    BOOST_TEST(api::is_expected(naming, tag), naming);
  for (const auto* other : {"", " ", ",", "0f3a", R"("x")", R"(W/"0f3a")", R"("x", *)", R"("0f3a)"})
    BOOST_TEST(!api::is_expected(other, tag), other);
}

BOOST_AUTO_TEST_SUITE_END()
