// Bearer tokens: opaque, 256 random bits, prefix `apie_`. The database stores only the SHA-256 of the whole
// text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/crypto/crypto.hpp"

namespace webhook {

/// Returns `apie_` and 43 characters of base64url.
std::string generate_access_token();

/// Returns the digest stored in tokens_acceso.hash; nullopt when the text does not have the form of a token.
std::optional<crypto::Sha256> access_token_hash(std::string_view token);

/// The content of the Authorization header. `present` without `hash`: not a well-formed bearer token.
struct Credentials {
  bool present = false;
  std::optional<crypto::Sha256> hash;
};

/// Parses the header's value by RFC 6750 section 2.1, ignoring the scheme's case. An empty value counts as
/// absent.
Credentials parse_authorization(std::string_view header_value);

}  // namespace webhook
