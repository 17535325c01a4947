// The adapter of OpenSSL's libcrypto. Apart from it, the programs include OpenSSL only in dispatcher/http.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crypto {

/// A digest or a MAC. Everything else is passed as a string, which may contain zero bytes.
using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
Sha256 hmac_sha256(std::string_view key, std::string_view message);  // RFC 2104, FIPS 180-4
/// Takes the bytes from OpenSSL's CSPRNG. Throws std::runtime_error when that fails.
std::string random_bytes(std::size_t count);
bool equal_in_constant_time(std::string_view a, std::string_view b);

std::string to_hex(std::string_view bytes);  // lower case
std::string to_hex(const Sha256& digest);
/// Accepts upper and lower case. Returns nullopt when the length is odd or a character is not a hexadecimal
/// digit.
std::optional<std::string> from_hex(std::string_view text);
std::string to_base64(std::string_view bytes);  // RFC 4648 section 4, padded
std::string to_base64(const Sha256& digest);
std::string to_base64url(std::string_view bytes);               // RFC 4648 section 5, unpadded
std::optional<std::string> from_base64(std::string_view text);  // strict: padded, no white space
/// As from_base64(), but the padding may be missing, and stray bits in the last character are ignored.
std::optional<std::string> from_unpadded_base64(std::string_view text);

/// Encrypts by AES-256-GCM (NIST SP 800-38D) with a fresh random 96-bit nonce; returns nonce || ciphertext ||
/// 128-bit tag.
std::string seal(std::string_view key32, std::string_view plaintext, std::string_view associated_data);
/// Returns the plaintext; nullopt unless seal() made `sealed` with the same key and associated data.
std::optional<std::string> open(std::string_view key32, std::string_view sealed,
                                std::string_view associated_data);

/// Whether OpenSSL can load the authorities of the PEM file, as libcurl does: one damaged certificate is
/// enough that it cannot.
bool can_load_certificates(const std::string& path);

}  // namespace crypto
