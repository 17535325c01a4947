// The headers of a diagnosis's test requests.
#include "dispatcher/diagnoses/test_requests.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/crypto/crypto.hpp"
#include "lib/webhook/signature.hpp"

BOOST_AUTO_TEST_SUITE(test_requests)

namespace {

using dispatcher::headers_of;
using Kind = delivery::TestRequestKind;

const platform::UtcTime now(platform::Milliseconds(1795168861999));  // cut to seconds: 1795168861
const std::string id = "msg_diagnostico_1_2";
const std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string random_bytes = crypto::random_bytes(4 * dispatcher::wrong_signature_bytes);

dispatcher::Request request() {
  dispatcher::Request result;
  result.delivery.event = webhook::Event::evaluacion_abierta;
  result.body = R"({"evento":"evaluacion.abierta"})";
  result.secret = secret;
  return result;
}

std::vector<std::string> headers(Kind kind, std::chrono::seconds later = {}) {
  return headers_of(request(), kind, id, now + later, random_bytes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_is_signed_as_its_kind_says) {
  const auto genuine = headers(Kind::genuine);
  const auto expected =
      webhook::notification_headers(request().delivery.event, id, 1795168861, request().body, secret);
  BOOST_TEST(genuine == expected, boost::test_tools::per_element());
  BOOST_TEST(headers(Kind::repeated) == expected, boost::test_tools::per_element());
  BOOST_TEST(headers(Kind::old_timestamp, std::chrono::hours(1)) == expected,
             boost::test_tools::per_element());
  BOOST_TEST(headers(Kind::no_signature).size() == 4U);
  const auto wrong = headers(Kind::wrong_signature);
  BOOST_TEST_REQUIRE(wrong.size() == genuine.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    BOOST_TEST(wrong[i].size() == genuine[i].size());
    BOOST_TEST((wrong[i] == genuine[i]) == (i < 4));
  }
}

BOOST_AUTO_TEST_CASE(a_rare_form_changes_one_thing_in_the_headers) {
  const auto genuine = headers(Kind::genuine);
  const auto signature = genuine[5].substr(std::string_view("webhook-signature: ").size());
  auto expected = genuine;
  expected[0] = "Content-Type: application/json; charset=utf-8";
  BOOST_TEST(headers(Kind::charset) == expected, boost::test_tools::per_element());
  expected = genuine;
  expected[1] = "X-Webhook-Event: diagnostico.evento_desconocido";
  BOOST_TEST(headers(Kind::unknown_event) == expected, boost::test_tools::per_element());
  expected = genuine;
  const auto wrong = crypto::to_base64(random_bytes.substr(0, dispatcher::wrong_signature_bytes));
  expected[5] = "webhook-signature: v1," + wrong + " " + signature;
  BOOST_TEST(headers(Kind::second_signature) == expected, boost::test_tools::per_element());
  const std::vector<std::string> capitals{"CONTENT-TYPE: application/json",
                                          "X-WEBHOOK-EVENT: evaluacion.abierta",
                                          "WEBHOOK-ID: " + id,
                                          "WEBHOOK-TIMESTAMP: 1795168861",
                                          genuine[4],
                                          "WEBHOOK-SIGNATURE: " + signature};
  auto in_capitals = headers(Kind::header_case);
  BOOST_TEST(in_capitals[4].starts_with("X-WEBHOOK-SIGNATURE: sha256="));
  in_capitals[4] = genuine[4];
  BOOST_TEST(in_capitals == capitals, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_wrong_signatures_of_a_grace_are_four_of_their_own) {
  auto in_grace = request();
  in_grace.previous_secret = "el anterior";
  const auto of = [&](Kind kind) { return headers_of(in_grace, kind, id, now, random_bytes); };
  const auto genuine = of(Kind::genuine);
  const auto wrong = of(Kind::wrong_signature);
  BOOST_TEST_REQUIRE(wrong.size() == genuine.size());
  for (std::size_t i = 4; i < wrong.size(); ++i) {
    BOOST_TEST(wrong[i].size() == genuine[i].size());
    BOOST_TEST(wrong[i].substr(0, 20) == genuine[i].substr(0, 20));
    BOOST_TEST(wrong[i] != genuine[i]);
  }
  BOOST_TEST(wrong[4].substr(wrong[4].size() - 64) != wrong[6].substr(wrong[6].size() - 64));
}

BOOST_AUTO_TEST_CASE(the_repeated_request_has_the_id_of_the_genuine_one) {
  BOOST_TEST(dispatcher::message_id(7, Kind::repeated) == dispatcher::message_id(7, Kind::genuine));
  BOOST_TEST(dispatcher::message_id(7, Kind::charset) != dispatcher::message_id(7, Kind::genuine));
  BOOST_TEST(dispatcher::message_id(8, Kind::genuine) != dispatcher::message_id(7, Kind::genuine));
}

BOOST_AUTO_TEST_SUITE_END()
