// Bearer tokens: opaque, 256 random bits, prefix `apie_`; only the SHA-256 of the whole text is
// stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/crypto/crypto.hpp"

namespace webhook {

/// `apie_` and 43 characters of base64url.
std::string generate_access_token();

/// The digest stored in tokens_acceso.hash; nullopt when the text has not the form of a token.
std::optional<crypto::Sha256> access_token_hash(std::string_view token);

/// What the Authorization header carries: nullopt `token` with `present` true means it was not a well-formed
/// bearer token.
struct Credentials {
  bool present = false;
  std::optional<crypto::Sha256> hash;
};

/// RFC 6750 section 2.1; the scheme's case does not matter. An empty value counts as absent.
Credentials parse_authorization(std::string_view header_value);

}  // namespace webhook
