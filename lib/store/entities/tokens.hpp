// Table `tokens_acceso`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/session/session.hpp"
#include "store/types.hpp"
#include "webhook/crypto.hpp"

namespace store {

struct Token {
  TokenId id;
  EntityId entity;
  std::string label;
  std::optional<UtcTime> expires;
  std::optional<UtcTime> revoked;
  UtcTime created;
};

/// nullopt: no such entity. `ttl` counts from the database's clock; unset: never expires.
std::optional<TokenId> issue_token(Session& session, EntityId entity, const webhook::crypto::Sha256& hash,
                                   std::optional<platform::Milliseconds> ttl, std::string_view label);
std::vector<Token> list_tokens(Session& session, std::optional<EntityId> entity);
/// False: no such token. Revoking twice keeps the first time.
bool revoke_token(Session& session, TokenId id);

}  // namespace store
