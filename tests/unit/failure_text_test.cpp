#include "lib/delivery/failure_text.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "lib/text/utf8.hpp"
#include "tests/unit/dispatcher_support.hpp"

BOOST_AUTO_TEST_SUITE(failure_text)

namespace {

using delivery::failure_text;
using delivery::TransportResult;

const config::DeliverySettings settings{};

std::string answer(int status) { return failure_text(TransportResult::answered, status, settings); }
std::string unanswered(TransportResult result) { return failure_text(result, 0, settings); }

void check_form(const std::string& text) {
  BOOST_TEST(text::count_characters(text).value_or(501) <= 500U, text);
  for (const char c : text) BOOST_TEST(static_cast<unsigned char>(c) >= 0x20, text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_2xx_is_no_failure) {
  for (int status = 200; status < 300; ++status) BOOST_TEST(answer(status).empty(), status);
}

BOOST_AUTO_TEST_CASE(every_other_status_is_named) {
  for (int status = 0; status < 1000; ++status) {
    if (status >= 200 && status < 300) continue;
    const auto text = answer(status);
    check_form(text);
    BOOST_TEST(text.find(std::to_string(status)) != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(says_what_a_redirect_and_a_410_lead_to) {
  for (const int status : {301, 302, 303, 307, 308}) {
    BOOST_TEST(answer(status).find("redirecci") != std::string::npos, status);
  }
  for (const int status : {300, 304, 305, 306, 399}) {
    BOOST_TEST(answer(status).find("redirecci") == std::string::npos, status);
  }
  BOOST_TEST(answer(400).find("redirecci") == std::string::npos);
  BOOST_TEST(answer(410).find("desactivado") != std::string::npos);
  BOOST_TEST(answer(411).find("desactivado") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_other_transport_result_has_a_text_of_its_own) {
  const auto& results = dispatcher_support::results_without_answer();
  // All but answered, not_started, local_failure and sandboxed.
  BOOST_TEST(results.size() + 4 == static_cast<std::size_t>(TransportResult::bad_response) + 1);
  std::set<std::string> texts;
  for (const auto result : results) {
    const auto text = unanswered(result);
    BOOST_TEST(!text.empty(), static_cast<int>(result));
    check_form(text);
    BOOST_TEST(failure_text(result, 200, settings) == text);  // without an answer, the status does not count
    texts.insert(text);
  }
  BOOST_TEST(texts.size() == results.size() - 1);
  BOOST_TEST(unanswered(TransportResult::address_refused) == unanswered(TransportResult::name_unresolved));
}

BOOST_AUTO_TEST_CASE(no_attempt_is_no_failure) {
  BOOST_TEST(unanswered(TransportResult::not_started).empty());
}

BOOST_AUTO_TEST_CASE(time_outs_say_how_long_was_waited) {
  config::DeliverySettings other;
  other.connect_timeout = std::chrono::milliseconds(1500);
  other.timeout = std::chrono::minutes(2);
  BOOST_TEST(failure_text(TransportResult::connection_timeout, 0, other).find(" 1500ms:") !=
             std::string::npos);
  BOOST_TEST(failure_text(TransportResult::timeout, 0, other).find(" 2m:") != std::string::npos);
}

// The text of a refusal must tell neither which private address was refused nor what answers there.
BOOST_AUTO_TEST_CASE(a_refused_address_has_one_text_without_any_detail) {
  config::DeliverySettings other;
  other.allowed_networks = {{platform::IpNetwork::parse("10.0.0.0/8").value(), ""}};
  other.host_overrides = {{"receptor.example", platform::IpAddress::parse("10.1.2.3").value()}};
  other.timeout = std::chrono::seconds(1);
  const auto text = unanswered(TransportResult::address_refused);
  for (const int status : {0, 7, 200, 404, 410})
    BOOST_TEST(failure_text(TransportResult::address_refused, status, other) == text);
  BOOST_TEST(text.find_first_of("0123456789") == std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(a_refused_port_is_named) {
  for (const auto* host : {"receptor.example:25", "[2001:db8::25]:25"}) {
    const auto text = failure_text(TransportResult::port_refused, 0, settings, host);
    BOOST_TEST(text.find("usa un puerto que no se admite, el 25,") != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
