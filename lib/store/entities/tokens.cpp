#include "lib/store/entities/tokens.hpp"

#include "lib/store/session/microseconds.hpp"

namespace store {

namespace {

constexpr std::string_view insert_token = R"sql(
  INSERT INTO tokens_acceso (entidad_id, hash, etiqueta, caduca, solo_lectura)
  SELECT id, UNHEX(?), ?, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, ? FROM entidades WHERE id = ?)sql";

constexpr std::string_view tokens_of_one_or_all = R"sql(
  SELECT id, entidad_id, etiqueta, CAST(caduca AS CHAR) AS caduca, CAST(revocado AS CHAR) AS revocado,
    solo_lectura, CAST(fecha_alta AS CHAR) AS fecha_alta
  FROM tokens_acceso WHERE ? IS NULL OR entidad_id = ? ORDER BY id)sql";

constexpr std::string_view own_token = R"sql(
  SELECT etiqueta, CAST(caduca AS CHAR) AS caduca FROM tokens_acceso WHERE id = ?)sql";

constexpr std::string_view revoke = R"sql(
  UPDATE tokens_acceso SET revocado = UTC_TIMESTAMP(3) WHERE id = ? AND revocado IS NULL)sql";
constexpr std::string_view token_exists = R"sql(
  SELECT 1 FROM tokens_acceso WHERE id = ?)sql";

}  // namespace

std::optional<TokenId> issue_token(Session& session, const NewToken& token) {
  return transaction(session, [&]() -> std::optional<TokenId> {
    const auto added = session.update(insert_token, crypto::to_hex(token.hash), token.label,
                                      microseconds(token.ttl), token.read_only, token.entity);
    if (added == 0) return std::nullopt;
    return session.last_insert_id();
  });
}

std::optional<OwnToken> find_own_token(Session& session, TokenId id) {
  const auto rows = session.query(own_token, id);
  if (rows.empty()) return std::nullopt;
  return OwnToken{rows.front().text("etiqueta"), rows.front().optional_time("caduca")};
}

std::vector<Token> list_tokens(Session& session, std::optional<EntityId> entity) {
  std::vector<Token> result;
  for (const auto& row : session.query(tokens_of_one_or_all, entity, entity)) {
    result.push_back({row.integer("id"), row.integer("entidad_id"), row.text("etiqueta"),
                      row.optional_time("caduca"), row.optional_time("revocado"), row.boolean("solo_lectura"),
                      row.time("fecha_alta")});
  }
  return result;
}

bool revoke_token(Session& session, TokenId id) {
  session.update(revoke, id);
  return !session.query(token_exists, id).empty();
}

}  // namespace store
