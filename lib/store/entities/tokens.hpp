// Table `tokens_acceso`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/crypto/crypto.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct Token {
  TokenId id;
  EntityId entity;
  std::string label;
  std::optional<UtcTime> expires;
  std::optional<UtcTime> revoked;
  bool read_only;
  UtcTime created;
};

struct NewToken {
  EntityId entity;
  crypto::Sha256 hash;
  std::optional<platform::Milliseconds> ttl{};  // from now on, by the database's clock; unset: never expires
  std::string_view label{};
  bool read_only = false;
};
/// Returns nullopt when there is no such entity.
std::optional<TokenId> issue_token(Session& session, const NewToken& token);
/// What an entity is shown of the token that it uses.
struct OwnToken {
  std::string label;
  std::optional<UtcTime> expires;
};
/// Returns nullopt when there is no such token.
std::optional<OwnToken> find_own_token(Session& session, TokenId id);
std::vector<Token> list_tokens(Session& session, std::optional<EntityId> entity);
/// Returns false when there is no such token. A second revocation keeps the time of the first.
bool revoke_token(Session& session, TokenId id);

}  // namespace store
