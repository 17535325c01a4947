#include "lib/webhook/sealed_data.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/crypto/crypto.hpp"
#include "lib/json/json.hpp"

using webhook::Event;
using webhook::KeyRing;
using webhook::open_test_data;
using webhook::seal_test_data;

BOOST_AUTO_TEST_SUITE(sealed_data)

namespace {

KeyRing ring(const std::string& id = "k", char byte = 'a') {
  return KeyRing::parse(id + ":" + crypto::to_base64(std::string(32, byte)) + "\n");
}

constexpr auto event = Event::evaluacion_abierta;
const std::string data = R"({"test":true,"datos":{"nota":7.50,"ñ":"\u0000"}})";

}  // namespace

BOOST_AUTO_TEST_CASE(sealed_test_data_open_byte_for_byte_and_show_nothing) {
  const auto stored = seal_test_data(ring(), 7, event, data);
  BOOST_TEST(json::parse(stored).find("clave")->string()->compare("k") == 0);
  BOOST_TEST(stored.find("nota") == std::string::npos);
  BOOST_TEST(open_test_data(ring(), 7, event, stored).value() == data);
  BOOST_TEST(seal_test_data(ring(), 7, event, data) != stored);
}

BOOST_AUTO_TEST_CASE(sealed_test_data_open_for_no_other_entity_event_or_key) {
  const auto stored = seal_test_data(ring(), 7, event, data);
  BOOST_TEST(!open_test_data(ring(), 77, event, stored));
  BOOST_TEST(!open_test_data(ring(), 7, Event::evaluacion_cerrada, stored));
  BOOST_TEST(!open_test_data(ring("k", 'b'), 7, event, stored));
  BOOST_TEST(!open_test_data(ring("other"), 7, event, stored));
}

// A webhook's sealed secret never opens as test data, even if the webhook's id equals the entity's.
BOOST_AUTO_TEST_CASE(a_sealed_secret_does_not_open_as_test_data) {
  const auto secret = ring().seal(7, data);
  const auto as_data =
      json::dump(json::Object{{"clave", "k"}, {"sellado", crypto::to_base64(secret.ciphertext)}});
  BOOST_TEST(!open_test_data(ring(), 7, event, as_data));
}

BOOST_AUTO_TEST_CASE(what_is_not_sealed_does_not_open) {
  for (const std::string stored :
       {"", "{}", "[]", "null", "x", R"({"test":true})", R"({"clave":1,"sellado":"AAAA"})",
        R"({"clave":"k","sellado":5})", R"({"clave":"k","sellado":"*"})", R"({"clave":"k","sellado":""})"})
    BOOST_TEST(!open_test_data(ring(), 7, event, stored), stored);
  BOOST_TEST(!open_test_data(ring(), 7, event, data));
}

BOOST_AUTO_TEST_SUITE_END()
