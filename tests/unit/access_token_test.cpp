#include "lib/webhook/access_token.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

BOOST_AUTO_TEST_SUITE(access_token)

namespace {

const std::string token = "apie_abcdefghijklmnopqrstuvwxyz-_ABCDEFGHIJ01234";

/// Whether the header has credentials that are no well-formed token.
bool refused(std::string_view header_value) {
  const auto credentials = webhook::parse_authorization(header_value);
  return credentials.present && !credentials.hash;
}

bool accepted(std::string_view header_value) {
  const auto credentials = webhook::parse_authorization(header_value);
  return credentials.present && credentials.hash == crypto::sha256(token);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_generated_token_has_the_form_of_one) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string generated = webhook::generate_access_token();
    BOOST_TEST(generated.size() == 48U);
    BOOST_TEST(generated.substr(0, 5) == "apie_");
    BOOST_TEST(webhook::access_token_hash(generated).has_value());
    seen.insert(generated);
  }
  BOOST_TEST(seen.size() == 100U);
}

BOOST_AUTO_TEST_CASE(the_hash_is_of_the_whole_text) {
  BOOST_REQUIRE(token.size() == 48U);
  BOOST_TEST(crypto::to_hex(webhook::access_token_hash(token).value()) ==
             crypto::to_hex(crypto::sha256(token)));
}

BOOST_AUTO_TEST_CASE(other_texts_have_no_hash) {
  const std::string rest = token.substr(5);
  for (const auto& text :
       {std::string(), std::string("apie_"), rest, token + "A", token.substr(0, 47), "APIE_" + rest,
        "apie-" + rest, " " + token, token + " ", "apie_" + std::string(5000, 'A')}) {
    BOOST_TEST(!webhook::access_token_hash(text).has_value(), text);
  }
  for (const char c : {'+', '/', '=', '.', '~', ' ', '\0', '\n', '\'', '@', '[', '`', '{', '\xf1'}) {
    std::string text = token;
    text[20] = c;
    BOOST_TEST(!webhook::access_token_hash(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_CASE(nothing_sent) {
  for (const auto* value : {"", " ", "\t "}) {
    const auto credentials = webhook::parse_authorization(value);
    BOOST_TEST(!credentials.present);
    BOOST_TEST(!credentials.hash.has_value());
  }
  BOOST_TEST(!webhook::parse_authorization({}).present);
}

BOOST_AUTO_TEST_CASE(a_bearer_token) {
  for (const auto* scheme : {"Bearer ", "bearer ", "BEARER ", "bEaReR ", "Bearer   "}) {
    BOOST_TEST(accepted(scheme + token), scheme);
  }
  BOOST_TEST(accepted("  Bearer " + token + " \t"));
}

BOOST_AUTO_TEST_CASE(everything_else_is_refused) {
  const std::string values[] = {std::string("Bearer"),
                                std::string("Bearer "),
                                std::string("Bearer x"),
                                std::string("Basic dTpw"),
                                token,
                                "Basic " + token,
                                "Token " + token,
                                "BearerX " + token,
                                "Beare " + token,
                                "Bearer\t" + token,
                                "Bearer \t" + token,
                                "Bearer" + token,
                                "Bearer=" + token,
                                "Bearer: " + token,
                                "Bearer \"" + token + "\"",
                                "Bearer " + token + "x",
                                "Bearer " + token + " x",
                                "Bearer x " + token,
                                "Bearer " + token + " " + token,
                                "Bearer " + token + ",Bearer " + token,
                                "Bearer " + token + "=",
                                "Bearer token=" + token,
                                "Bearer " + token + std::string(1, '\0'),
                                "Bearer\xc2\xa0" + token,
                                "Bearer\n" + token};
  for (const auto& value : values) {
    BOOST_TEST(refused(value), value);
  }
}

BOOST_AUTO_TEST_SUITE_END()
