#include "store/entities/tokens.hpp"

namespace store {

std::optional<TokenId> issue_token(Session& session, EntityId entity, const webhook::crypto::Sha256& hash,
                                   std::optional<platform::Milliseconds> ttl, std::string_view label) {
  const Parameter ttl_us = ttl ? Parameter(std::int64_t{ttl->count()} * 1000) : Parameter(nullptr);
  return transaction(session, [&]() -> std::optional<TokenId> {
    const auto added = session.update(
        "INSERT INTO tokens_acceso (entidad_id, hash, etiqueta, caduca)"
        " SELECT id, UNHEX(?), ?, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND FROM entidades WHERE id = ?",
        webhook::crypto::to_hex(hash), label, ttl_us, entity);
    if (added == 0) return std::nullopt;
    return session.last_insert_id();
  });
}

std::vector<Token> list_tokens(Session& session, std::optional<EntityId> entity) {
  std::vector<Token> result;
  for (const auto& row :
       session.query("SELECT id, entidad_id, etiqueta, " STORE_EPOCH_MS("caduca") ", " STORE_EPOCH_MS(
                         "revocado") ", " STORE_EPOCH_MS("fecha_alta") " FROM tokens_acceso WHERE ? IS NULL "
                                                                       "OR entidad_id = ? ORDER BY id",
                     entity, entity)) {
    result.push_back({row.integer(0), row.integer(1), row.text(2), row.optional_time(3), row.optional_time(4),
                      row.time(5)});
  }
  return result;
}

bool revoke_token(Session& session, TokenId id) {
  session.update("UPDATE tokens_acceso SET revocado = UTC_TIMESTAMP(3) WHERE id = ? AND revocado IS NULL",
                 id);
  return !session.query("SELECT 1 FROM tokens_acceso WHERE id = ?", id).empty();
}

}  // namespace store
