#include "fcgi-app/handlers/delivery_json.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(delivery_json)

namespace {

const std::vector<platform::IpNetwork> hidden = {platform::IpNetwork::parse("9.9.9.0/24").value()};

std::string written(const store::RecordedAttempt& attempt) {
  json::Writer writer;
  api::write_attempt(writer, attempt, hidden);
  return writer.take();
}

std::string address_shown(std::optional<std::string> address) {
  store::RecordedAttempt attempt{};
  attempt.address = std::move(address);
  return json::dump(*json::parse(written(attempt)).find("direccion"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_attempt_has_these_members_in_this_order) {
  store::RecordedAttempt attempt{};
  attempt.number = 3;
  attempt.kind = "reenvio";
  attempt.started = platform::UtcTime(platform::Milliseconds(1795168800123));
  attempt.duration_ms = 15;
  attempt.address = "8.8.8.8";
  attempt.status = 500;
  attempt.error = "El receptor respondió 500";
  attempt.signatures = 2;
  BOOST_TEST(written(attempt) ==
             R"({"numero":3,"tipo":"reenvio","inicio":"2026-11-20T10:00:00.123Z","duracionMs":15,)"
             R"("direccion":"8.8.8.8","firmas":2,"estadoHttp":500,"error":"El receptor respondió 500"})");
}

BOOST_AUTO_TEST_CASE(an_address_is_shown_if_it_is_public_and_none_of_the_operator_s) {
  BOOST_TEST(address_shown("8.8.8.8") == R"("8.8.8.8")");
  for (const auto* address : {"9.9.9.9", "10.1.2.3", "127.0.0.1", "::1", "no address"})
    BOOST_TEST(address_shown(address) == "null", address);
  BOOST_TEST(address_shown({}) == "null");
}

BOOST_AUTO_TEST_SUITE_END()
