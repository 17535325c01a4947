#include "store/webhooks/secrets.hpp"

#include <map>

#include "store/types.hpp"
#include "webhook/crypto.hpp"
#include "webhook/sealed_data.hpp"

namespace store {

namespace {

using webhook::crypto::from_hex;
using webhook::crypto::to_hex;

// Rows looked at in one go: what is read of them is at most 100 KiB each.
#define BATCH "100"

/// The next secrets, by id, that another key than `current` seals.
Rows outdated_secrets(Session& session, std::int64_t after, const std::string& current) {
  return session.query(
      "SELECT id, secreto_clave, HEX(secreto_sellado) FROM webhooks"
      " WHERE id > ? AND secreto_clave IS NOT NULL AND secreto_clave <> ? ORDER BY id LIMIT " BATCH,
      after, current);
}

/// False: it cannot be opened.
bool reseal_secret(Session& session, const Row& row, const webhook::KeyRing& keys, ReencryptResult& result) {
  const WebhookId id = row.integer(0);
  const auto secret = keys.open(id, {row.text(1), from_hex(row.text(2)).value()});
  if (!secret) return false;
  const auto resealed = keys.seal(id, *secret);
  // Guarded by what was read.
  result.secrets += transaction(session, [&] {
    return session.update(
        "UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?) WHERE id = ? AND "
        "secreto_sellado = UNHEX(?)",
        resealed.key_id, to_hex(resealed.ciphertext), id, row.text(2));
  });
  return true;
}

Rows outdated_test_events(Session& session, std::int64_t after, const std::string& current) {
  return session.query(
      "SELECT id, entidad_id, evento, datos FROM notificaciones_pendientes WHERE id > ? AND origen = 'prueba'"
      " AND JSON_VALUE(datos, '$.clave') <> ? ORDER BY id LIMIT " BATCH,
      after, current);
}

bool reseal_test_event(Session& session, const Row& row, const webhook::KeyRing& keys,
                       ReencryptResult& result) {
  const EntityId entity = row.integer(1);
  const auto event = webhook::find_event(row.text(2));
  const auto data = event ? webhook::open_test_data(keys, entity, *event, row.text(3)) : std::nullopt;
  if (!data) return false;
  const auto resealed = webhook::seal_test_data(keys, entity, *event, *data);
  result.test_events += transaction(session, [&] {
    return session.update("UPDATE notificaciones_pendientes SET datos = ? WHERE id = ? AND datos = ?",
                          resealed, row.integer(0), row.text(3));
  });
  return true;
}

using Outdated = Rows (*)(Session&, std::int64_t after, const std::string& current);
using Reseal = bool (*)(Session&, const Row&, const webhook::KeyRing&, ReencryptResult&);

void walk(Session& session, const webhook::KeyRing& keys, Outdated outdated, Reseal reseal,
          ReencryptResult& result) {
  std::int64_t after = 0;
  for (auto rows = outdated(session, after, keys.current_id()); !rows.empty();
       rows = outdated(session, after, keys.current_id())) {
    for (const auto& row : rows) {
      after = row.integer(0);
      if (!reseal(session, row, keys, result)) ++result.unreadable;
    }
  }
}

}  // namespace

std::vector<SealedByKey> sealed_by_key(Session& session) {
  std::map<std::string, SealedByKey> found;
  for (const auto& row :
       session.query("SELECT secreto_clave, COUNT(*) FROM webhooks WHERE secreto_clave IS NOT NULL"
                     " GROUP BY secreto_clave")) {
    found[row.text(0)].webhooks = row.integer(1);
  }
  for (const auto& row : session.query(
           "SELECT JSON_VALUE(datos, '$.clave') AS clave, COUNT(*) FROM notificaciones_pendientes WHERE "
           "origen = 'prueba' GROUP BY 1 HAVING clave IS NOT NULL")) {
    found[row.text(0)].test_events = row.integer(1);
  }
  std::vector<SealedByKey> result;
  for (auto& [key, sealed] : found) {
    sealed.key_id = key;
    result.push_back(sealed);
  }
  return result;
}

ReencryptResult reencrypt(Session& session, const webhook::KeyRing& keys) {
  ReencryptResult result;
  walk(session, keys, outdated_secrets, reseal_secret, result);
  walk(session, keys, outdated_test_events, reseal_test_event, result);
  return result;
}

}  // namespace store
