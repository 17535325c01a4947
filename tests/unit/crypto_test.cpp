#include "lib/crypto/crypto.hpp"

#include <boost/test/unit_test.hpp>
#include <set>
#include <stdexcept>

BOOST_AUTO_TEST_SUITE(crypto)

namespace {

std::string bytes(std::string_view hex) { return crypto::from_hex(hex).value(); }

std::string hmac_hex(std::string_view key, std::string_view message) {
  return crypto::to_hex(crypto::hmac_sha256(key, message));
}

const std::string key(32, 'k');

}  // namespace

BOOST_AUTO_TEST_CASE(sha256_of_fips_180) {
  BOOST_TEST(crypto::to_hex(crypto::sha256("")) ==
             "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_TEST(crypto::to_hex(crypto::sha256(std::string_view())) == crypto::to_hex(crypto::sha256("")));
  BOOST_TEST(crypto::to_hex(crypto::sha256("abc")) ==
             "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

BOOST_AUTO_TEST_CASE(hmac_sha256_of_rfc_4231) {
  const std::string long_key(131, '\xaa');
  BOOST_TEST(hmac_hex(std::string(20, '\x0b'), "Hi There") ==
             "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  BOOST_TEST(hmac_hex("Jefe", "what do ya want for nothing?") ==
             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  BOOST_TEST(hmac_hex(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
             "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  BOOST_TEST(hmac_hex(bytes("0102030405060708090a0b0c0d0e0f10111213141516171819"), std::string(50, '\xcd')) ==
             "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  BOOST_TEST(hmac_hex(std::string(20, '\x0c'), "Test With Truncation").substr(0, 32) ==
             "a3b6167473100ee06e0c796c2955552b");
  BOOST_TEST(hmac_hex(long_key, "Test Using Larger Than Block-Size Key - Hash Key First") ==
             "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  BOOST_TEST(hmac_hex(long_key,
                      "This is a test using a larger than block-size key and a larger than block-size data. "
                      "The key needs to be hashed before being used by the HMAC algorithm.") ==
             "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

BOOST_AUTO_TEST_CASE(hmac_of_nothing) {
  const auto* expected = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
  BOOST_TEST(hmac_hex("", "") == expected);
  BOOST_TEST(hmac_hex(std::string_view(), std::string_view()) == expected);
}

BOOST_AUTO_TEST_CASE(random_bytes_differ) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(crypto::random_bytes(16));
  BOOST_TEST(seen.size() == 100U);
  BOOST_TEST(seen.begin()->size() == 16U);
  BOOST_TEST(crypto::random_bytes(0).empty());
}

BOOST_AUTO_TEST_CASE(equality) {
  BOOST_TEST(crypto::equal_in_constant_time("", std::string_view()));
  BOOST_TEST(crypto::equal_in_constant_time("abc", "abc"));
  BOOST_TEST(!crypto::equal_in_constant_time("abc", "abd"));
  BOOST_TEST(!crypto::equal_in_constant_time("abc", "ab"));
  BOOST_TEST(!crypto::equal_in_constant_time("abc", ""));
}

BOOST_AUTO_TEST_CASE(hexadecimal) {
  BOOST_TEST(crypto::to_hex(std::string_view("\x00\x7f\x80\xff", 4)) == "007f80ff");
  BOOST_TEST(bytes("007F80fF") == std::string("\x00\x7f\x80\xff", 4));
  BOOST_TEST(bytes("").empty());
  for (const auto* text : {"0", "000", "0g", "g0", " 0", "0x", "-1", "0\n"}) {
    BOOST_TEST(!crypto::from_hex(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_CASE(base64_of_rfc_4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xfb\xff\xfe", "+//+"}};
  for (const auto& [plain, encoded] : vectors) {
    BOOST_TEST(crypto::to_base64(std::string_view(plain)) == encoded);
    BOOST_TEST(crypto::from_base64(encoded).value() == plain);
  }
  BOOST_TEST(crypto::to_base64url("\xfb\xff\xfe") == "-__-");
  BOOST_TEST(crypto::to_base64url("f") == "Zg");
  BOOST_TEST(crypto::to_base64(crypto::sha256("abc")) == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

BOOST_AUTO_TEST_CASE(every_byte_survives_base64) {
  std::string all;
  for (int i = 0; i < 256; ++i) {
    all += static_cast<char>(i);
    BOOST_TEST(crypto::from_base64(crypto::to_base64(all)).value() == all);
  }
}

BOOST_AUTO_TEST_CASE(base64_has_one_spelling) {
  for (const auto* text : {"Zg",       "Zg=",  "Zg===", "Zg==Zg==", "Zg==\n",   "Z g==", " Zg==",   "Zm9v\n",
                           "=",        "==",   "====",  "Z===",     "Z",        "Zm9vY", "Zh==",    "Zm9=",
                           "Zm9vYh==", "-__-", "Zm9*",  "Zg=a",     "Zm8=====", "Zm9v=", "Zm9v===="}) {
    BOOST_TEST(!crypto::from_base64(text).has_value(), text);
  }
  BOOST_TEST(!crypto::from_base64(std::string_view("Zm9\0", 4)).has_value());
}

// Test case 16 of the GCM specification (McGrew and Viega).
BOOST_AUTO_TEST_CASE(opens_a_published_aes_256_gcm_vector) {
  const std::string gcm_key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  const std::string sealed = bytes(
      "cafebabefacedbaddecaf888"
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
      "76fc6ece0f4e1768cddf8853bb2d551b");
  const auto plaintext = crypto::open(gcm_key, sealed, bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2"));
  BOOST_TEST(crypto::to_hex(plaintext.value()) ==
             "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
             "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
}

BOOST_AUTO_TEST_CASE(what_is_sealed_opens) {
  const std::string binary("\0\xff secreto", 10);
  for (const auto& plaintext : {std::string(), std::string("x"), binary, std::string(100000, 'a')}) {
    for (const auto data : {std::string_view(), std::string_view("datos")}) {
      const std::string sealed = crypto::seal(key, plaintext, data);
      BOOST_TEST(sealed.size() == 12 + plaintext.size() + 16);
      BOOST_TEST(crypto::open(key, sealed, data).value() == plaintext);
    }
  }
}

BOOST_AUTO_TEST_CASE(nonces_are_fresh) {
  std::set<std::string> nonces;
  for (int i = 0; i < 100; ++i) nonces.insert(crypto::seal(key, "x", "").substr(0, 12));
  BOOST_TEST(nonces.size() == 100U);
}

BOOST_AUTO_TEST_CASE(anything_changed_does_not_open) {
  const std::string sealed = crypto::seal(key, "secreto", "datos");
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string changed = sealed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    BOOST_TEST(!crypto::open(key, changed, "datos").has_value(), "bit " << bit);
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    BOOST_TEST(!crypto::open(key, sealed.substr(0, size), "datos").has_value(), "size " << size);
  }
  BOOST_TEST(!crypto::open(key, sealed + '\0', "datos").has_value());
  BOOST_TEST(!crypto::open(key, sealed, "dato").has_value());
  BOOST_TEST(!crypto::open(key, sealed, "").has_value());
  BOOST_TEST(!crypto::open(std::string(32, 'K'), sealed, "datos").has_value());
}

BOOST_AUTO_TEST_CASE(a_key_has_32_bytes) {
  for (const std::size_t size : {0U, 16U, 31U, 33U}) {
    BOOST_CHECK_THROW(crypto::seal(std::string(size, 'k'), "x", ""), std::invalid_argument);
    BOOST_TEST(!crypto::open(std::string(size, 'k'), crypto::seal(key, "x", ""), "").has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()
