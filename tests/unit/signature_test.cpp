#include "lib/webhook/signature.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/crypto/crypto.hpp"
#include "lib/json/json.hpp"
#include "lib/platform/file.hpp"

BOOST_AUTO_TEST_SUITE(signature)

namespace {

using webhook::standard_webhooks_signature;
using webhook::webhook_signature;

// A test vector that libraries of Standard Webhooks publish.
const std::string example_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string example_id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::int64_t example_time = 1614265330;
const std::string example_body = R"({"test": 2432232314})";
const std::string example_signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

/// The signature with these bytes as the key.
std::string signed_with(std::string_view key) {
  return "v1," + crypto::to_base64(crypto::hmac_sha256(key, "id.1.body"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(webhook_signature_of_rfc_4231_test_case_2) {
  BOOST_TEST(webhook_signature("Jefe", "what do ya want for nothing?") ==
             "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

BOOST_AUTO_TEST_CASE(webhook_signature_never_decodes_the_secret) {
  BOOST_TEST(webhook_signature(example_secret, "x") ==
             "sha256=" + crypto::to_hex(crypto::hmac_sha256(example_secret, "x")));
}

BOOST_AUTO_TEST_CASE(the_example_of_standard_webhooks) {
  BOOST_TEST(standard_webhooks_signature(example_secret, example_id, example_time, example_body) ==
             example_signature);
}

BOOST_AUTO_TEST_CASE(every_part_is_signed) {
  BOOST_TEST(standard_webhooks_signature(example_secret + "=", example_id, example_time, example_body) !=
             example_signature);
  BOOST_TEST(standard_webhooks_signature(example_secret, "msg_x", example_time, example_body) !=
             example_signature);
  BOOST_TEST(standard_webhooks_signature(example_secret, example_id, example_time + 1, example_body) !=
             example_signature);
  BOOST_TEST(standard_webhooks_signature(example_secret, example_id, example_time, example_body + "\n") !=
             example_signature);
}

BOOST_AUTO_TEST_CASE(a_well_formed_whsec_secret_is_decoded) {
  BOOST_TEST(standard_webhooks_signature("whsec_aGVsbG8=", "id", 1, "body") == signed_with("hello"));
  BOOST_TEST(standard_webhooks_signature("whsec_AA==", "id", 1, "body") == signed_with({"\0", 1}));
}

BOOST_AUTO_TEST_CASE(a_secret_that_earlier_releases_did_not_decode_gets_both_signatures) {
  for (const auto* secret : {"whsec_aGVsbG8", "whsec_aGVsbG9=", "v1,whsec_aGVsbG8=", "v1,whsec_aGVsbG8"})
    BOOST_TEST(standard_webhooks_signature(secret, "id", 1, "body") ==
                   signed_with(secret) + ' ' + signed_with("hello"),
               secret);
}

BOOST_AUTO_TEST_CASE(the_key_of_each_form_is_that_of_the_libraries_that_take_it) {
  const auto file = json::parse(platform::read_file(SOURCE_DIR "/tests/unit/secret_forms.json"));
  for (const auto& form : *file.find("forms")->array()) {
    const auto& secret = *form.find("secret")->string();
    const auto key = crypto::from_hex(*form.find("key")->string()).value();
    const auto signature = standard_webhooks_signature(secret, "id", 1, "body");
    const bool verifiable = *form.find("verifiable")->boolean();
    BOOST_TEST(signature.substr(signature.find(' ') + 1) == signed_with(key), secret);
    BOOST_TEST(webhook::is_verifiable(secret) == verifiable, secret);
    if (!secret.starts_with("whsec_")) continue;
    bool taken = false;
    for (const auto& [library, made] : *form.find("libraries")->object()) {
      taken = taken || made == *form.find("key");
      BOOST_TEST((!verifiable || made.is_null() || made == *form.find("key")), secret << ", " << library);
    }
    BOOST_TEST(taken == verifiable, secret);
  }
}

BOOST_AUTO_TEST_CASE(any_other_secret_is_used_as_it_is) {
  for (const auto* secret :
       {"hello", "ñandú", "aGVsbG8=", "whsec_", "whsec_aGVs bG8=", "whsec_aGVsbG8=\n", "whsec_-__-",
        "whsec_no base64", "WHSEC_aGVsbG8=", " whsec_aGVsbG8=", "whsec_aGVsbG8=="}) {
    BOOST_TEST(standard_webhooks_signature(secret, "id", 1, "body") == signed_with(secret), secret);
  }
}

BOOST_AUTO_TEST_CASE(headers_with_a_secret) {
  const std::vector<std::string> expected{
      "Content-Type: application/json",
      "X-Webhook-Event: documento.disponible",
      "webhook-id: " + example_id,
      "webhook-timestamp: 1614265330",
      "X-Webhook-Signature: " + webhook_signature(example_secret, example_body),
      "webhook-signature: " + example_signature,
  };
  BOOST_TEST(webhook::notification_headers(webhook::Event::documento_disponible, example_id, example_time,
                                           example_body, example_secret) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(headers_while_two_secrets_sign) {
  const auto headers =
      webhook::notification_headers(webhook::Event::evaluacion_abierta, "msg_1", 5, "{}", "nuevo", "viejo");
  const std::vector<std::string> expected{
      "Content-Type: application/json",
      "X-Webhook-Event: evaluacion.abierta",
      "webhook-id: msg_1",
      "webhook-timestamp: 5",
      "X-Webhook-Signature: " + webhook_signature("viejo", "{}"),
      "webhook-signature: " + webhook::standard_webhooks_signature("nuevo", "msg_1", 5, "{}") + " " +
          webhook::standard_webhooks_signature("viejo", "msg_1", 5, "{}"),
      "X-Webhook-Signature-Nueva: " + webhook_signature("nuevo", "{}"),
  };
  BOOST_TEST(headers == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(headers_without_a_secret) {
  const std::vector<std::string> expected{
      "Content-Type: application/json",
      "X-Webhook-Event: evaluacion.abierta",
      "webhook-id: msg_1",
      "webhook-timestamp: 5",
  };
  BOOST_TEST(webhook::notification_headers(webhook::Event::evaluacion_abierta, "msg_1", 5, "{}",
                                           std::nullopt) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
