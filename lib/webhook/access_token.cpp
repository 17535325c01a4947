#include "webhook/access_token.hpp"

#include <algorithm>

namespace webhook {

namespace {

constexpr std::string_view prefix = "apie_";
constexpr std::string_view scheme = "bearer";
constexpr std::size_t random_size = 32;
constexpr std::size_t encoded_size = 43;  // 32 bytes in base64url

// Not <cctype>, which depends on the locale.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_base64url(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/// A field's value has no surrounding white space (RFC 9110 section 5.5).
std::string_view trim(std::string_view value) {
  constexpr std::string_view white = " \t";
  const auto first = value.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(white) - first + 1);
}

bool is_bearer(std::string_view text) {
  return std::equal(text.begin(), text.end(), scheme.begin(), scheme.end(),
                    [](char a, char b) { return lower(a) == b; });
}

}  // namespace

std::string generate_access_token() {
  return std::string(prefix) + crypto::to_base64url(crypto::random_bytes(random_size));
}

std::optional<crypto::Sha256> access_token_hash(std::string_view token) {
  if (!token.starts_with(prefix)) return std::nullopt;
  const auto encoded = token.substr(prefix.size());
  if (encoded.size() != encoded_size || !std::all_of(encoded.begin(), encoded.end(), is_base64url)) {
    return std::nullopt;
  }
  return crypto::sha256(token);
}

Credentials parse_authorization(std::string_view header_value) {
  const auto value = trim(header_value);
  if (value.empty()) return {};
  // auth-scheme 1*SP token68 (RFC 9110 section 11.4); our tokens are a subset of token68.
  const auto space = value.find(' ');
  if (space == std::string_view::npos || !is_bearer(value.substr(0, space)))
    return {.present = true, .hash = {}};
  return {.present = true, .hash = access_token_hash(value.substr(value.find_first_not_of(' ', space)))};
}

}  // namespace webhook
