#include "lib/webhook/access_token.hpp"

#include <algorithm>

#include "lib/text/text.hpp"

namespace webhook {

namespace {

constexpr std::string_view prefix = "apie_";
constexpr std::string_view scheme = "bearer";
constexpr std::size_t random_size = 32;
constexpr std::size_t encoded_size = 43;  // 32 bytes in base64url

bool is_base64url(char c) { return text::is_letter(c) || text::is_digit(c) || c == '-' || c == '_'; }

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
  // White space around a field's value does not belong to it (RFC 9110 section 5.5).
  const auto value = text::trim(header_value, text::http_white_space);
  if (value.empty()) return {};
  // auth-scheme 1*SP token68 (RFC 9110 section 11.4); our tokens are a subset of token68.
  const auto space = value.find(' ');
  if (space == std::string_view::npos || !text::equal_ignoring_case(value.substr(0, space), scheme))
    return {.present = true, .hash = {}};
  return {.present = true, .hash = access_token_hash(value.substr(value.find_first_not_of(' ', space)))};
}

}  // namespace webhook
