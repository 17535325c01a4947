#include "fcgi-app/http/query.hpp"

#include <boost/test/unit_test.hpp>

#include "fcgi-app/http/errors.hpp"

BOOST_AUTO_TEST_SUITE(query)

using api::BadRequest;
using api::Query;

BOOST_AUTO_TEST_CASE(values_are_decoded) {
  const Query query("a=1&b=%C3%B1%20x&c=", {"a", "b", "c", "d"});
  BOOST_TEST(query.text("a").value() == "1");
  BOOST_TEST(query.text("b").value() == "ñ x");
  BOOST_TEST(query.text("c").value().empty());
  BOOST_TEST(!query.text("d"));
  BOOST_TEST(!Query("", {"a"}).text("a"));
}

BOOST_AUTO_TEST_CASE(the_others_can_be_written_again) {
  const Query query("b=%C3%B1%20%2B%22&cursor=x&a=2026-11-20T10:00:00%2b00:00&c=", {"a", "b", "c", "cursor"});
  const auto text = query.without("cursor");
  BOOST_TEST(text == "a=2026-11-20T10:00:00%2b00:00&b=%c3%b1%20%2b%22&c=&");
  const Query again(text + "cursor=y", {"a", "b", "c", "cursor"});
  for (const auto* name : {"a", "b", "c"}) BOOST_TEST(again.text(name).value() == query.text(name).value());
  BOOST_TEST(Query("cursor=x", {"cursor"}).without("cursor").empty());
}

BOOST_AUTO_TEST_CASE(what_is_unknown_repeated_or_badly_encoded_is_refused) {
  for (const auto* text :
       {"x=1", "a=1&a=1", "a=1&a=2", "A=1", "a=%", "a=%4", "a=%zz", "a=%FF", "&", "=", "a=1&&b=2", "a =1"})
    BOOST_CHECK_THROW(Query(text, {"a", "b"}), BadRequest);
  BOOST_CHECK_THROW(Query("a=1", {}), BadRequest);
}

BOOST_AUTO_TEST_CASE(numbers_have_their_limits) {
  const auto number = [](std::string_view text) { return Query(text, {"n"}).number("n", 1, 100); };
  BOOST_TEST(number("n=1").value() == 1U);
  BOOST_TEST(number("n=100").value() == 100U);
  BOOST_TEST(!number(""));
  for (const auto* text :
       {"n=0", "n=101", "n=1000000000", "n=99999999999999999999", "n=-1", "n=+1", "n=1.5", "n=", "n=1%20"})
    BOOST_CHECK_THROW(number(text), BadRequest);
}

BOOST_AUTO_TEST_CASE(times_are_utc) {
  const auto time = [](std::string_view text) { return Query(text, {"t"}).time("t"); };
  BOOST_TEST(platform::format_iso8601(time("t=2026-11-20T10:00:00Z").value()) == "2026-11-20T10:00:00.000Z");
  BOOST_TEST(platform::format_iso8601(time("t=2026-11-20T10:00:00.125Z").value()) ==
             "2026-11-20T10:00:00.125Z");
  for (const auto* text : {"t=2026-11-20", "t=2026-11-31T10:00:00Z", "t=2026-11-20T10:00:00",
                           "t=2026-11-20T10:00:00+01:00", "t=ayer"})
    BOOST_CHECK_THROW(time(text), BadRequest);
}

BOOST_AUTO_TEST_CASE(one_of_some_words) {
  BOOST_TEST(Query("e=b", {"e"}).one_of("e", {"a", "b"}).value() == "b");
  BOOST_CHECK_THROW(Query("e=c", {"e"}).one_of("e", {"a", "b"}), BadRequest);
  BOOST_CHECK_THROW(Query("e=", {"e"}).one_of("e", {"a", "b"}), BadRequest);
}

BOOST_AUTO_TEST_SUITE_END()
