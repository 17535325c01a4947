#include "fcgi-app/http/parameters.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <vector>

using api::announced_body;
using api::BodyState;
using api::find_parameter;
using api::max_body_bytes;
using api::read_head;

BOOST_AUTO_TEST_SUITE(parameters)

BOOST_AUTO_TEST_CASE(a_parameter_is_found_by_its_whole_name) {
  const std::array<const char*, 8> list{"A_B=long", "A=1=2",     "A=second", "NOTHING",
                                        "EMPTY=",   "=nameless", "a=lower",  nullptr};
  BOOST_TEST(find_parameter(list.data(), "A") == "1=2");
  BOOST_TEST(find_parameter(list.data(), "A_B") == "long");
  BOOST_TEST(find_parameter(list.data(), "EMPTY").empty());
  BOOST_TEST(find_parameter(list.data(), "NOTHING").empty());
  BOOST_TEST(find_parameter(list.data(), "A_").empty());
  BOOST_TEST(find_parameter(list.data(), "B").empty());
  BOOST_TEST(find_parameter(nullptr, "A").empty());
}

BOOST_AUTO_TEST_CASE(the_head_of_a_request) {
  const std::array<const char*, 7> list{"REQUEST_ID=f00",
                                        "REQUEST_METHOD=POST",
                                        "REQUEST_URI=/a?b=c",
                                        "CONTENT_LENGTH=5",
                                        "CONTENT_TYPE=application/json",
                                        "HTTP_AUTHORIZATION=Bearer x",
                                        nullptr};
  const auto request = read_head(list.data());
  BOOST_TEST(request.id == "f00");
  BOOST_TEST(request.method == "POST");
  BOOST_TEST(request.target == "/a?b=c");
  BOOST_TEST(request.content_type == "application/json");
  BOOST_TEST(request.authorization == "Bearer x");
  BOOST_TEST(request.body.empty());
}

// A client's header becomes HTTP_…, so it is never taken for one of nginx's own parameters.
BOOST_AUTO_TEST_CASE(headers_are_no_parameters) {
  const std::array<const char*, 5> list{"HTTP_REQUEST_URI=/x", "HTTP_CONTENT_LENGTH=5",
                                        "HTTP_REQUEST_METHOD=DELETE", "HTTP_CONTENT_TYPE=application/json",
                                        nullptr};
  const auto request = read_head(list.data());
  BOOST_TEST(request.method.empty());
  BOOST_TEST(request.target.empty());
  BOOST_TEST(request.content_type.empty());
}

// nginx 1.26 joins the values of a repeated header in one parameter. nginx 1.22 passes several parameters,
// which read_head() joins in the same way.
BOOST_AUTO_TEST_CASE(the_lines_of_an_idempotency_key_are_joined) {
  const auto key = [](const std::vector<const char*>& parameters) {
    auto list = parameters;
    list.push_back(nullptr);
    return read_head(list.data()).idempotency_key.value_or("none");
  };
  BOOST_TEST(key({"REQUEST_METHOD=POST"}) == "none");
  BOOST_TEST(key({"HTTP_IDEMPOTENCY_KEY="}) == "");
  BOOST_TEST(key({"HTTP_IDEMPOTENCY_KEY=a", "IDEMPOTENCY_KEY=a"}) == "a");
  BOOST_TEST(key({"HTTP_IDEMPOTENCY_KEY=a", "X=y", "HTTP_IDEMPOTENCY_KEY=b"}) == "a, b");
  BOOST_TEST(key({"HTTP_IDEMPOTENCY_KEY=", "HTTP_IDEMPOTENCY_KEY="}) == ", ");
  BOOST_TEST(key({"IDEMPOTENCY_KEY=a"}) == "a");  // the name in earlier releases' nginx files
}

BOOST_AUTO_TEST_CASE(an_empty_if_match_is_not_an_absent_one) {
  const auto if_match = [](const std::vector<const char*>& parameters) {
    auto list = parameters;
    list.push_back(nullptr);
    return read_head(list.data()).preconditions.if_match.value_or("none");
  };
  BOOST_TEST(if_match({"REQUEST_METHOD=PATCH"}) == "none");
  BOOST_TEST(if_match({"HTTP_IF_MATCH="}) == "");
  BOOST_TEST(if_match({"HTTP_IF_MATCH=\"a\"", "HTTP_IF_MATCH=\"b\""}) == "\"a\", \"b\"");
  BOOST_TEST(if_match({"IF_MATCH=\"a\""}) == "\"a\"");  // the name in earlier releases' nginx files
}

BOOST_AUTO_TEST_CASE(announced_lengths) {
  const auto length = [](std::string_view text) { return announced_body(text).length; };
  const auto state = [](std::string_view text) { return announced_body(text).state; };
  BOOST_TEST(length("") == 0U);
  BOOST_TEST(length("0") == 0U);
  BOOST_TEST(length("0012") == 12U);
  BOOST_TEST(length("65536") == max_body_bytes);
  for (const auto* text : {"", "0", "65536"}) BOOST_TEST((state(text) == BodyState::complete), text);
  for (const auto* text : {"65537", "4294967296", "18446744073709551616", "99999999999999999999999"}) {
    BOOST_TEST((state(text) == BodyState::too_large), text);
    BOOST_TEST(length(text) == 0U);
  }
  for (const auto* text : {"-1", "+1", " 1", "1 ", "0x5", "5,5", "x", "99999999999999999999x"}) {
    BOOST_TEST((state(text) == BodyState::malformed), text);
  }
}

BOOST_AUTO_TEST_CASE(what_a_request_is_for) {
  const auto purpose = [](const char* parameter) {
    const std::array<const char*, 2> list{parameter, nullptr};
    return read_head(list.data()).purpose;
  };
  BOOST_TEST((purpose("APIENTIDADES_PURPOSE=health") == api::Purpose::health));
  BOOST_TEST((purpose("APIENTIDADES_PURPOSE=metrics") == api::Purpose::metrics));
  BOOST_TEST((purpose("APIENTIDADES_PURPOSE=unsubscribe") == api::Purpose::unsubscribe));
  for (const auto* other : {"REQUEST_METHOD=GET", "APIENTIDADES_PURPOSE=", "APIENTIDADES_PURPOSE=Metrics",
                            "HTTP_APIENTIDADES_PURPOSE=metrics"})
    BOOST_TEST((purpose(other) == api::Purpose::api));
}

BOOST_AUTO_TEST_SUITE_END()
