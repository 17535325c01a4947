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

BOOST_AUTO_TEST_CASE(an_etag_that_lost_its_quotes_is_named) {
  const auto error = [](const char* header) {
    return std::string(api::unmet({.if_match = header}, R"("now")").what());
  };
  for (const auto* broken : {"0f3a", "", " ", ",", R"(W/"0f3a")", R"(W/"0f3a", 0f3a)", R"("0f3a)", "\""})
    BOOST_TEST(error(broken) == api::PreconditionFailed::no_etag().what(), broken);
  for (const auto* other : {R"("x")", R"(W/"0f3a", "x")", R"("x" , "y")", R"("")"})
    BOOST_TEST(error(other) == api::PreconditionFailed::another_version().what(), other);
  for (const auto* met : {"*", R"("now")"})
    BOOST_TEST(error(met) == api::PreconditionFailed::excluded_version().what(), met);
}

BOOST_AUTO_TEST_SUITE_END()
