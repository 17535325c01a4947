#include "lib/webhook/sealed_secret.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/crypto/crypto.hpp"

BOOST_AUTO_TEST_SUITE(sealed_secret)

namespace {

using webhook::KeyFileError;
using webhook::KeyRing;
using webhook::SealedSecret;

const std::string key_a = crypto::to_base64(std::string(32, 'a'));
const std::string key_b = crypto::to_base64(std::string(32, 'b'));
const std::string secret = "un secreto \xc3\xb1";

KeyRing ring_a() { return KeyRing::parse("a:" + key_a + "\n"); }

/// Returns the message of the KeyFileError, or an empty string if the file is accepted.
std::string refusal(const std::string& file_text) try {
  KeyRing::parse(file_text);
  return "";
} catch (const KeyFileError& error) {
  return error.what();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_sealed_opens) {
  const KeyRing ring = ring_a();
  for (const auto& text : {secret, std::string(), std::string("a\0b", 3), std::string(2048, 'x')}) {
    const SealedSecret sealed = ring.seal(7, text);
    BOOST_TEST(sealed.key_id == "a");
    BOOST_TEST(sealed.ciphertext.find(secret) == std::string::npos);
    BOOST_TEST(ring.open(7, sealed).value() == text);
  }
  BOOST_TEST((ring.seal(7, secret) != ring.seal(7, secret)));
}

BOOST_AUTO_TEST_CASE(another_webhook_s_does_not_open) {
  const KeyRing ring = ring_a();
  const SealedSecret first = ring.seal(1, "uno");
  const SealedSecret second = ring.seal(2, "dos");
  BOOST_TEST(!ring.open(2, first).has_value());
  BOOST_TEST(!ring.open(1, second).has_value());
  BOOST_TEST(!ring.open(-1, first).has_value());
  BOOST_TEST(!ring.open(11, first).has_value());
}

BOOST_AUTO_TEST_CASE(keys_of_two_installations_in_one_file_open_what_each_has_sealed) {
  const KeyRing old = KeyRing::parse("k1:" + key_a + "\n");
  const std::string by_digest = "k" + crypto::to_hex(crypto::sha256(std::string(32, 'b'))).substr(0, 8);
  const KeyRing later = KeyRing::parse(by_digest + ":" + key_b + "\n");
  const KeyRing both = KeyRing::parse(by_digest + ":" + key_b + "\nk1:" + key_a + "\n");
  BOOST_TEST(both.open(7, old.seal(7, "uno")).value() == "uno");
  BOOST_TEST(both.open(7, later.seal(7, "dos")).value() == "dos");
  BOOST_TEST(both.current_id() == by_digest);
  BOOST_TEST(refusal("k1:" + key_a + "\nk1:" + key_b + "\n").find("could not be told apart") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_id_of_the_key_is_bound_too) {
  const KeyRing ring = KeyRing::parse("1:" + key_a + "\n11:" + key_a + "\n");
  SealedSecret sealed = ring.seal(11, secret);
  BOOST_TEST(ring.open(11, sealed).value() == secret);
  sealed.key_id = "11";
  BOOST_TEST(!ring.open(11, sealed).has_value());
  // The text bound to a secret ends with the webhook's id, a separator and the key's id: without the
  // separator, the texts of webhook 11 with key "1" and of webhook 1 with key "11" would be the same.
  BOOST_TEST(!ring.open(1, sealed).has_value());
}

BOOST_AUTO_TEST_CASE(one_flipped_bit_does_not_open) {
  const KeyRing ring = ring_a();
  const SealedSecret sealed = ring.seal(1, secret);
  for (std::size_t bit = 0; bit < sealed.ciphertext.size() * 8; ++bit) {
    SealedSecret changed = sealed;
    changed.ciphertext[bit / 8] = static_cast<char>(changed.ciphertext[bit / 8] ^ (1 << bit % 8));
    BOOST_TEST(!ring.open(1, changed).has_value(), "bit " << bit);
  }
  BOOST_TEST(!ring.open(1, {"a", ""}).has_value());
  BOOST_TEST(!ring.open(1, {"a", sealed.ciphertext + "x"}).has_value());
}

BOOST_AUTO_TEST_CASE(an_unknown_key_does_not_open) {
  const SealedSecret sealed = ring_a().seal(1, secret);
  BOOST_TEST(!KeyRing::parse("b:" + key_a + "\n").open(1, sealed).has_value());
  BOOST_TEST(!KeyRing::parse("a:" + key_b + "\n").open(1, sealed).has_value());
  BOOST_TEST(!ring_a().open(1, {"", sealed.ciphertext}).has_value());
}

BOOST_AUTO_TEST_CASE(rotation) {
  const SealedSecret old = ring_a().seal(1, secret);
  const KeyRing both = KeyRing::parse("b:" + key_b + "\na:" + key_a + "\n");
  BOOST_TEST(both.current_id() == "b");
  BOOST_TEST(both.open(1, old).value() == secret);
  const SealedSecret sealed_again = both.seal(1, secret);
  BOOST_TEST(sealed_again.key_id == "b");
  const KeyRing only_new = KeyRing::parse("b:" + key_b + "\n");
  BOOST_TEST(only_new.open(1, sealed_again).value() == secret);
  BOOST_TEST(!only_new.open(1, old).has_value());
}

BOOST_AUTO_TEST_CASE(files_that_are_fine) {
  const std::string longest_id(32, 'x');
  const std::pair<std::string, std::string> files[] = {
      {"a:" + key_a, std::string("a")},
      {"# comment\n\n  \n  # another: comment\n\ta:" + key_a + " \r\nb:" + key_b + "\r\n\r\n",
       std::string("a")},
      {"2026-11_A.z:" + key_a + "\n", std::string("2026-11_A.z")},
      {longest_id + ":" + key_a + "\n", longest_id},
      {"a:" + key_a + "\nb:" + key_a + "\n", std::string("a")},
  };
  for (const auto& [text, current] : files) {
    BOOST_TEST(KeyRing::parse(text).current_id() == current);
  }
}

BOOST_AUTO_TEST_CASE(files_without_a_key) {
  for (const auto* text : {"", "\n", "\n\n", "# a\n", "  "}) {
    BOOST_TEST(refusal(text).find("no key") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(an_error_names_its_line_and_what_is_wrong) {
  const std::string before = "# comment\n\na:" + key_a + "\n";
  const std::string after = "\nc:" + key_b + "\n";
  const std::pair<std::string, const char*> broken[] = {
      {key_b, "id:base64"},
      {"b " + key_b, "id:base64"},
      {":" + key_b, "id"},
      {key_b + ":b", "id"},
      {"b c:" + key_b, "id"},
      {"\xc3\xb1:" + key_b, "id"},
      {std::string(33, 'x') + ":" + key_b, "id"},
      {"b: " + key_b, "base64"},
      {"b:" + key_b.substr(0, 43), "base64"},
      {"b:" + key_b + "=", "base64"},
      {"b:" + key_b + " # comment", "base64"},
      {"b:c:" + key_b, "base64"},
      {"b:", "32 bytes"},
      {"b:" + crypto::to_base64(std::string(31, 'b')), "32 bytes"},
      {"b:" + crypto::to_base64(std::string(33, 'b')), "32 bytes"},
      {"a:" + key_b, "repeats"},
      {"a:" + key_a, "repeats"},
  };
  for (const auto& [line, what] : broken) {
    const std::string message = refusal(std::string(before).append(line).append(after));
    BOOST_TEST(message.starts_with("secrets.key_file: line 4: "), line << " -> " << message);
    BOOST_TEST(message.find(what) != std::string::npos, line << " -> " << message);
    BOOST_TEST(message.find('\n') == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(an_error_never_shows_the_key) {
  const std::string part = key_b.substr(0, 10);
  const std::string lines[] = {key_b,
                               key_b + ":b",
                               "b:" + key_b + "=",
                               "b:" + key_b.substr(0, 40),
                               part + ":x",
                               "a:" + key_a + "\na:" + key_b,
                               "b " + key_b};
  for (const auto& line : lines) {
    const std::string message = refusal(line);
    BOOST_TEST(!message.empty(), line);
    BOOST_TEST(message.find(part) == std::string::npos, message);
  }
}

BOOST_AUTO_TEST_SUITE_END()
