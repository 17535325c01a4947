#include "store/secrets.hpp"

#include "webhook/crypto.hpp"

namespace store {

namespace {

struct Sealed {
  std::int64_t webhook;
  webhook::SealedSecret secret;
};

/// The next secrets, by id, that another key than `current` seals.
std::vector<Sealed> outdated_after(Session& session, std::int64_t after, const std::string& current) {
  std::vector<Sealed> result;
  for (const auto& row : session.query(
           "SELECT id, secreto_clave, HEX(secreto_sellado) FROM webhooks"
           " WHERE id > ? AND secreto_clave IS NOT NULL AND secreto_clave <> ? ORDER BY id LIMIT 500",
           after, current)) {
    result.push_back({row.integer(0), {row.text(1), webhook::crypto::from_hex(row.text(2)).value()}});
  }
  return result;
}

}  // namespace

std::vector<SecretsOfKey> secrets_by_key(Session& session) {
  std::vector<SecretsOfKey> result;
  for (const auto& row :
       session.query("SELECT secreto_clave, COUNT(*) FROM webhooks WHERE secreto_clave IS NOT NULL"
                     " GROUP BY secreto_clave ORDER BY secreto_clave")) {
    result.push_back({row.text(0), row.integer(1)});
  }
  return result;
}

ReencryptResult reencrypt_secrets(Session& session, const webhook::KeyRing& keys) {
  ReencryptResult result;
  std::int64_t after = 0;
  for (auto batch = outdated_after(session, after, keys.current_id()); !batch.empty();
       batch = outdated_after(session, after, keys.current_id())) {
    for (const auto& [id, sealed] : batch) {
      after = id;
      const auto secret = keys.open(id, sealed);
      if (!secret) {
        ++result.unreadable;
        continue;
      }
      const auto resealed = keys.seal(id, *secret);
      // Guarded by what was read: whoever changed or deleted it meanwhile wins.
      result.resealed += session.update(
          "UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?) WHERE id = ? AND "
          "secreto_sellado = UNHEX(?)",
          resealed.key_id, webhook::crypto::to_hex(resealed.ciphertext), id,
          webhook::crypto::to_hex(sealed.ciphertext));
    }
  }
  return result;
}

}  // namespace store
