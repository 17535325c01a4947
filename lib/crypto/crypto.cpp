#include "lib/crypto/crypto.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509_vfy.h>

#include <climits>
#include <memory>
#include <stdexcept>

namespace crypto {

namespace {

constexpr std::size_t key_size = 32;
constexpr std::size_t nonce_size = 12;
constexpr std::size_t tag_size = 16;

struct FreeCipherContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeCipherContext>;

struct FreeDigest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};
using Digest = std::unique_ptr<EVP_MD, FreeDigest>;

struct FreeCipher {
  void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
};
using Cipher = std::unique_ptr<EVP_CIPHER, FreeCipher>;

struct FreeCertificates {
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
};

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
};
struct FreeMacContext {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using MacContext = std::unique_ptr<EVP_MAC_CTX, FreeMacContext>;

/// Empties this thread's OpenSSL error queue before it throws. Otherwise the thread's next TLS connection
/// would report the error.
[[noreturn]] void fail(const std::string& operation) {
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  throw std::runtime_error("OpenSSL: " + operation + " failed" + (reason ? ": " + std::string(reason) : ""));
}

void check(int return_code, const char* operation) {
  if (return_code != 1) fail(operation);
}

/// Fetched once: EVP_aes_256_gcm() and EVP_sha256() look the algorithm up at every use, under a lock. For a
/// short text the look-up takes longer than the operation.
const EVP_CIPHER* aes_256_gcm() {
  static const Cipher algorithm(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
  return algorithm.get();
}

const EVP_MD* sha256_algorithm() {
  static const Digest algorithm(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  return algorithm.get();
}

CipherContext new_cipher_context() {
  CipherContext context(EVP_CIPHER_CTX_new());
  if (!context) fail("EVP_CIPHER_CTX_new");
  return context;
}

const unsigned char* in(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* out(std::string& bytes, std::size_t offset = 0) {
  return reinterpret_cast<unsigned char*>(bytes.data() + offset);
}
std::string_view view(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// OpenSSL takes lengths as int.
int length(std::string_view bytes) {
  if (bytes.size() > INT_MAX) throw std::length_error("crypto: more than 2 GiB in one piece");
  return static_cast<int>(bytes.size());
}

void begin_mac(EVP_MAC_CTX* context, std::string_view key, const OSSL_PARAM* parameters) {
  // A null key means "none given" to OpenSSL, even when its length is 0.
  check(EVP_MAC_init(context, in(key.empty() ? "" : key), key.size(), parameters), "EVP_MAC_init");
}

MacContext new_hmac_sha256() {
  const std::unique_ptr<EVP_MAC, FreeMac> algorithm(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  MacContext context(EVP_MAC_CTX_new(algorithm.get()));
  if (!context) fail("EVP_MAC_CTX_new");
  std::string digest = "SHA256";
  const std::array parameters{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                              OSSL_PARAM_construct_end()};
  begin_mac(context.get(), "", parameters.data());  // OpenSSL 3.0 cannot copy a context without a key
  return context;
}

constexpr std::string_view base64_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view base64url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode_unpadded(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += alphabet[bits << (6 - count) & 63];
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 digest{};
  check(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, sha256_algorithm(), nullptr),
        "SHA-256");
  return digest;
}

Sha256 hmac_sha256(std::string_view key, std::string_view message) {
  // EVP_Q_mac would look its algorithms up at every use.
  static const MacContext prototype = new_hmac_sha256();
  const MacContext context(EVP_MAC_CTX_dup(prototype.get()));
  if (!context) fail("EVP_MAC_CTX_dup");
  begin_mac(context.get(), key, nullptr);
  check(EVP_MAC_update(context.get(), in(message), message.size()), "EVP_MAC_update");
  Sha256 mac{};
  check(EVP_MAC_final(context.get(), mac.data(), nullptr, mac.size()), "EVP_MAC_final");
  return mac;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  check(RAND_bytes(out(bytes), length(bytes)), "RAND_bytes");
  return bytes;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

std::string to_hex(const Sha256& digest) { return to_hex(view(digest)); }

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text = encode_unpadded(bytes, base64_alphabet);
  text.resize((text.size() + 3) / 4 * 4, '=');
  return text;
}

std::string to_base64(const Sha256& digest) { return to_base64(view(digest)); }

std::string to_base64url(std::string_view bytes) { return encode_unpadded(bytes, base64url_alphabet); }

std::optional<std::string> from_unpadded_base64(std::string_view text) {
  const auto digits = text.substr(0, text.find('='));
  const auto padding = (4 - digits.size() % 4) % 4;
  const bool is_padded = digits.size() < text.size();
  if (padding == 3 || (is_padded && text.substr(digits.size()) != std::string(padding, '=')))
    return std::nullopt;
  // EVP_DecodeBlock skips white space at both ends.
  if (digits.find_first_not_of(base64_alphabet) != std::string_view::npos) return std::nullopt;
  const std::string padded = std::string(digits) + std::string(padding, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(out(bytes), in(padded), length(padded)) < 0) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::optional<std::string> from_base64(std::string_view text) {
  auto bytes = from_unpadded_base64(text);
  // Bytes have exactly one valid encoding.
  if (bytes && to_base64(*bytes) != text) return std::nullopt;
  return bytes;
}

std::string seal(std::string_view key32, std::string_view plaintext, std::string_view associated_data) {
  if (key32.size() != key_size) throw std::invalid_argument("crypto: the key must have 32 bytes");
  std::string sealed = random_bytes(nonce_size);
  sealed.resize(nonce_size + plaintext.size() + tag_size);
  const auto context = new_cipher_context();
  int written = 0;
  check(EVP_EncryptInit_ex2(context.get(), aes_256_gcm(), in(key32), in(sealed), nullptr),
        "EVP_EncryptInit_ex2");
  check(EVP_EncryptUpdate(context.get(), nullptr, &written, in(associated_data), length(associated_data)),
        "EVP_EncryptUpdate");
  check(EVP_EncryptUpdate(context.get(), out(sealed, nonce_size), &written, in(plaintext), length(plaintext)),
        "EVP_EncryptUpdate");
  const std::size_t tag_offset = nonce_size + plaintext.size();
  check(EVP_EncryptFinal_ex(context.get(), out(sealed, tag_offset), &written), "EVP_EncryptFinal_ex");
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tag_size, out(sealed, tag_offset)),
        "EVP_CTRL_GCM_GET_TAG");
  return sealed;
}

std::optional<std::string> open(std::string_view key32, std::string_view sealed,
                                std::string_view associated_data) {
  if (key32.size() != key_size || sealed.size() < nonce_size + tag_size) return std::nullopt;
  const std::string_view nonce = sealed.substr(0, nonce_size);
  const std::string_view ciphertext = sealed.substr(nonce_size, sealed.size() - nonce_size - tag_size);
  std::string tag(sealed.substr(sealed.size() - tag_size));
  std::string plaintext(ciphertext.size(), '\0');
  const auto context = new_cipher_context();
  int written = 0;
  check(EVP_DecryptInit_ex2(context.get(), aes_256_gcm(), in(key32), in(nonce), nullptr),
        "EVP_DecryptInit_ex2");
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_size, out(tag)), "EVP_CTRL_GCM_SET_TAG");
  check(EVP_DecryptUpdate(context.get(), nullptr, &written, in(associated_data), length(associated_data)),
        "EVP_DecryptUpdate");
  check(EVP_DecryptUpdate(context.get(), out(plaintext), &written, in(ciphertext), length(ciphertext)),
        "EVP_DecryptUpdate");
  // OpenSSL compares the tag only here: until then `plaintext` is not authenticated.
  if (EVP_DecryptFinal_ex(context.get(), out(plaintext, plaintext.size()), &written) != 1) {
    ERR_clear_error();
    return std::nullopt;
  }
  return plaintext;
}

bool can_load_certificates(const std::string& path) {
  const std::unique_ptr<X509_STORE, FreeCertificates> store(X509_STORE_new());
  const bool loaded = store && X509_STORE_load_file(store.get(), path.c_str()) == 1;
  ERR_clear_error();
  return loaded;
}

}  // namespace crypto
