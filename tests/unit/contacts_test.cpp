// The kinds of notices, and the codes of the mails.
#include <boost/test/unit_test.hpp>
#include <set>

#include "lib/contacts/codes.hpp"
#include "lib/contacts/kinds.hpp"
#include "lib/crypto/crypto.hpp"

using namespace std::chrono_literals;
using contacts::CodeFor;
using contacts::KindSet;
using platform::UtcTime;
using webhook::KeyRing;

namespace {

KeyRing ring(const std::string& bytes) {
  std::string lines;
  for (const char byte : bytes)
    lines += std::string(1, byte) + ":" + crypto::to_base64(std::string(32, byte)) + "\n";
  return KeyRing::parse(lines);
}

const UtcTime now{1'800'000'000'123ms};
const CodeFor whose{7, "a@ejemplo.es", now};

/// The token with another character at one place, for each place.
std::vector<std::string> with_one_other_character(const std::string& token) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < token.size(); ++i) {
    result.push_back(token);
    result.back()[i] = token[i] == '1' ? '2' : '1';
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(contacts_test)

BOOST_AUTO_TEST_CASE(kinds_are_kept_in_the_order_of_the_catalogue) {
  BOOST_TEST(
      KindSet::all().joined() ==
      "fallo,desactivacion_proxima,desactivado,recuperado,certificado,secreto,token,entregas_fallidas");
  BOOST_TEST(KindSet::from_joined("token,of_a_newer_release,fallo").joined() == "fallo,token");
  BOOST_TEST(KindSet::from_joined("").empty());
  BOOST_TEST(!contacts::find_kind("Fallo"));
  for (const auto kind : contacts::all_kinds())
    BOOST_TEST((contacts::find_kind(contacts::name(kind)) == kind));
}

BOOST_AUTO_TEST_CASE(a_code_has_six_digits_and_is_of_one_contact_address_and_request) {
  const auto keys = ring("a");
  const auto code = contacts::confirmation_code(keys, whose);
  BOOST_TEST(code.size() == 6U);
  BOOST_TEST(code.find_first_not_of("0123456789") == std::string::npos);
  BOOST_TEST(contacts::is_confirmation_code(keys, whose, code));
  for (const auto& other : {CodeFor{8, "a@ejemplo.es", now}, CodeFor{7, "b@ejemplo.es", now},
                            CodeFor{7, "a@ejemplo.es", now + 1ms}})
    BOOST_TEST(!contacts::is_confirmation_code(keys, other, code));
  for (const auto& wrong : {std::string(), code + "0", code.substr(1), " " + code})
    BOOST_TEST(!contacts::is_confirmation_code(keys, whose, wrong));
}

BOOST_AUTO_TEST_CASE(codes_are_spread_over_all_numbers) {
  const auto keys = ring("a");
  std::set<std::string> seen;
  std::array<int, 10> first_digits{};
  for (int i = 0; i < 2000; ++i) {
    const auto code = contacts::confirmation_code(keys, {7, "a@ejemplo.es", now + i * 1ms});
    seen.insert(code);
    ++first_digits.at(static_cast<std::size_t>(code.front() - '0'));
  }
  BOOST_TEST(seen.size() > 1980U);
  for (const int count : first_digits) BOOST_TEST(count > 130);
}

BOOST_AUTO_TEST_CASE(a_code_of_any_key_of_the_ring_counts) {
  const auto code = contacts::confirmation_code(ring("a"), whose);
  BOOST_TEST(contacts::is_confirmation_code(ring("ba"), whose, code));
  BOOST_TEST(!contacts::is_confirmation_code(ring("b"), whose, code));
  const auto token = contacts::unsubscribe_token(ring("a"), 7, "a@ejemplo.es", now);
  BOOST_TEST(contacts::read_unsubscribe_token(ring("ba"), token, now - 1h).has_value());
  BOOST_TEST(!contacts::read_unsubscribe_token(ring("b"), token, now - 1h));
}

BOOST_AUTO_TEST_CASE(a_token_is_of_one_contact_and_ends) {
  const auto keys = ring("a");
  const auto token = contacts::unsubscribe_token(keys, 7, "a@ejemplo.es", now);
  BOOST_TEST(token.find_first_not_of("0123456789abcdef.") == std::string::npos);
  const auto link = contacts::read_unsubscribe_token(keys, token, now - 1s);
  BOOST_TEST((link.value().contact == webhook::ContactId(7)));
  BOOST_TEST(contacts::is_for_address(ring("ba"), *link, "a@ejemplo.es"));
  BOOST_TEST(!contacts::is_for_address(keys, *link, "b@ejemplo.es"));
  BOOST_TEST(!contacts::is_for_address(ring("b"), *link, "a@ejemplo.es"));
  BOOST_TEST(!contacts::read_unsubscribe_token(keys, token, now));
  for (const auto& forged : with_one_other_character(token))
    BOOST_TEST(!contacts::read_unsubscribe_token(keys, forged, UtcTime{}), forged);
}

BOOST_AUTO_TEST_CASE(what_is_no_token_names_no_contact) {
  const auto keys = ring("a");
  const auto code = keys.authenticate("contact-unsubscribe", "");
  const auto token = contacts::unsubscribe_token(keys, 7, "a@ejemplo.es", now);
  for (const std::string& text : {std::string(), std::string("."), std::string(".."), "." + code, ".." + code,
                                  "7." + code, "7..1." + code, "7.1..1." + code, token + "0", "0" + token,
                                  token + "." + token, std::string(100000, '.')})
    BOOST_TEST(!contacts::read_unsubscribe_token(keys, text, UtcTime{}), text.substr(0, 90));
}

BOOST_AUTO_TEST_SUITE_END()
