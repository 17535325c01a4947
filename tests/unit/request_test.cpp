#include "dispatcher/http/request.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/crypto/crypto.hpp"
#include "lib/webhook/sealed_data.hpp"
#include "lib/webhook/signature.hpp"

BOOST_AUTO_TEST_SUITE(request)

namespace {

using delivery::Unreadable;
using dispatcher::Request;
using platform::Milliseconds;
using webhook::KeyRing;

const platform::UtcTime occurred(Milliseconds(1795168800007));  // 2026-11-20T10:00:00.007Z
const platform::UtcTime created(Milliseconds(1795168800100));
const platform::UtcTime now(Milliseconds(1795168861999));  // the attempt's time; cut to seconds: 1795168861
const platform::MonotonicTime lease_until{std::chrono::seconds(77)};

const std::string data = R"({ "evaluacionId": 42, "titulo": "Ñ", "nota": 7.50 })";
const std::string body =
    R"({"evento":"evaluacion.abierta","timestamp":"2026-11-20T10:00:00.007Z","data":)" + data + "}";
const std::string id = "msg_1795168800100_40";
const std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

KeyRing ring(char byte = 'a', const std::string& key_id = "a") {
  return KeyRing::parse(key_id + ":" + crypto::to_base64(std::string(32, byte)) + "\n");
}

delivery::LeasedDelivery delivery() {
  delivery::LeasedDelivery result;
  result.id = 40;
  result.webhook = 4;
  result.notification = 400;
  result.lease = 99;
  result.event = webhook::Event::evaluacion_abierta;
  result.occurred = occurred;
  result.created = created;
  result.data = data;
  result.attempts = 3;
  result.failures = 2;
  return result;
}

store::Target target(std::optional<webhook::SealedSecret> sealed = {}) {
  return {4, "https://receptor.example/avisos?x=1", std::move(sealed)};
}

std::variant<Request, Unreadable> prepare(const store::Target& to, const KeyRing& keys = ring()) {
  return dispatcher::prepare_request(delivery(), to, keys, lease_until);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_request_of_a_webhook_without_a_secret) {
  const auto request = std::get<Request>(prepare(target()));
  const std::vector<std::string> expected{
      "Content-Type: application/json",
      "X-Webhook-Event: evaluacion.abierta",
      "webhook-id: " + id,
      "webhook-timestamp: 1795168861",
  };
  BOOST_TEST(request.url == "https://receptor.example/avisos?x=1");
  BOOST_TEST(request.body == body);
  BOOST_TEST(dispatcher::headers_of(request, now) == expected, boost::test_tools::per_element());
  BOOST_TEST((request.lease_until == lease_until));
  BOOST_TEST(request.delivery.id == 40);
  BOOST_TEST(request.delivery.lease == 99U);
  BOOST_TEST(request.delivery.failures == 2U);
}

BOOST_AUTO_TEST_CASE(with_a_secret_it_is_signed_both_ways) {
  const auto request = std::get<Request>(prepare(target(ring().seal(4, secret))));
  const std::vector<std::string> expected{
      "Content-Type: application/json",
      "X-Webhook-Event: evaluacion.abierta",
      "webhook-id: " + id,
      "webhook-timestamp: 1795168861",
      "X-Webhook-Signature: " + webhook::webhook_signature(secret, body),
      "webhook-signature: " + webhook::standard_webhooks_signature(secret, id, 1795168861, body),
  };
  BOOST_TEST(request.body == body);
  BOOST_TEST(dispatcher::headers_of(request, now) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_later_attempt_differs_only_in_its_time_and_signature) {
  const auto request = std::get<Request>(prepare(target(ring().seal(4, secret))));
  const auto first = dispatcher::headers_of(request, now);
  const auto later = dispatcher::headers_of(request, now + std::chrono::hours(5));
  BOOST_TEST(later.at(2) == first.at(2));  // webhook-id
  BOOST_TEST(later.at(3) == "webhook-timestamp: 1795186861");
  BOOST_TEST(later.at(4) == first.at(4));  // the signature of the body alone
  BOOST_TEST(later.at(5) != first.at(5));
}

BOOST_AUTO_TEST_CASE(a_secret_cannot_forge_a_header) {
  const auto request = std::get<Request>(prepare(target(ring().seal(4, "a\r\nX-Forged: yes"))));
  for (const auto& header : dispatcher::headers_of(request, now))
    BOOST_TEST(header.find_first_of("\r\n") == std::string::npos, header);
}

// A delivery with an unreadable secret is never sent unsigned.
BOOST_AUTO_TEST_CASE(an_unreadable_secret_makes_no_request) {
  const auto held = [](const store::Target& to, const KeyRing& keys = ring()) {
    const auto prepared = prepare(to, keys);
    const auto* what = std::get_if<Unreadable>(&prepared);
    return what != nullptr && *what == Unreadable::secret;
  };
  const auto sealed = ring().seal(4, secret);
  BOOST_TEST(held(target(ring().seal(5, secret))));          // the secret of another webhook
  BOOST_TEST(held(target(sealed), ring('b')));               // sealed with another key
  BOOST_TEST(held(target(sealed), ring('a', "b")));          // an unknown key
  BOOST_TEST(held(target(webhook::SealedSecret{"a", ""})));  // no ciphertext
  auto damaged = sealed;
  damaged.ciphertext.back() = static_cast<char>(damaged.ciphertext.back() ^ 1);
  BOOST_TEST(held(target(damaged)));
  BOOST_TEST(!held(target(sealed)));
}

// After a sealing key is lost, an entity can set another secret. Its deliveries must then be sent at once,
// although the previous secret is unreadable during the grace period.
BOOST_AUTO_TEST_CASE(a_previous_secret_that_is_unreadable_holds_nothing) {
  auto in_grace = target(ring().seal(4, secret));
  const auto alone = dispatcher::headers_of(std::get<Request>(prepare(in_grace)), now);
  in_grace.previous_secret = ring('b', "lost").seal(4, "el anterior");
  const auto prepared = prepare(in_grace);
  BOOST_TEST_REQUIRE(std::holds_alternative<Request>(prepared));
  BOOST_TEST(dispatcher::headers_of(std::get<Request>(prepared), now) == alone,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_data_of_a_test_event_is_opened_for_its_entity_and_event_alone) {
  const auto test_of = [](std::int64_t entity, std::string sealed) {
    auto test = delivery();
    test.test = true;
    test.entity = entity;
    test.data = std::move(sealed);
    return test;
  };
  const auto sealed = webhook::seal_test_data(ring(), 7, delivery().event, data);
  const auto held = [](const delivery::LeasedDelivery& test, const KeyRing& keys = ring()) {
    const auto prepared = dispatcher::prepare_request(test, target(), keys, lease_until);
    const auto* what = std::get_if<Unreadable>(&prepared);
    return what != nullptr && *what == Unreadable::test_data;
  };
  const auto request = dispatcher::prepare_request(test_of(7, sealed), target(), ring(), lease_until);
  BOOST_TEST(std::get<Request>(request).body == body);
  BOOST_TEST(held(test_of(8, sealed)));
  BOOST_TEST(held(test_of(7, sealed), ring('b')));
  BOOST_TEST(held(test_of(7, data)));  // not sealed
}

BOOST_AUTO_TEST_SUITE_END()
