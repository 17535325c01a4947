// Everything that the keys of secrets.key_file seal: the webhooks' secrets and the data of test events.
#pragma once

#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

struct SealedByKey {
  std::string key_id;
  std::int64_t webhooks = 0;     // secrets, including previous ones during their grace
  std::int64_t test_events = 0;  // kept notifications of origin `prueba`
};
/// Counts what each key seals, by key id; omits keys that seal nothing. Reads every notification.
std::vector<SealedByKey> sealed_by_key(Session& session);

struct ReencryptResult {
  std::uint64_t secrets = 0;  // resealed
  std::uint64_t test_events = 0;
  std::uint64_t unreadable = 0;  // sealed by an unknown key, or tampered with; unchanged
  std::uint64_t refused = 0;     // the database refuses to change the row
  std::string refusal{};         // the last refused row, and why
};
/// Reseals, under the current key, everything that another key seals, one row per transaction, while the
/// service runs. A concurrent change or deletion of a row wins. After an interruption, run it again.
ReencryptResult reencrypt(Session& session, const webhook::KeyRing& keys);

}  // namespace store
