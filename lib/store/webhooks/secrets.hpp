// What is sealed under the keys of secrets.key_file, as a whole: the webhooks' secrets and the data of test
// events.
#pragma once

#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

struct SealedByKey {
  std::string key_id;
  std::int64_t webhooks = 0;     // secrets, those in their grace among them
  std::int64_t test_events = 0;  // notifications of origin `prueba`, as long as they are kept
};
/// How much each key seals, by id; keys that seal nothing are not there. Reads every notification.
std::vector<SealedByKey> sealed_by_key(Session& session);

struct ReencryptResult {
  std::uint64_t secrets = 0;  // sealed again
  std::uint64_t test_events = 0;
  std::uint64_t unreadable =
      0;  // sealed by a key that is not in the ring, or tampered with: left as they are
};
/// Seals everything that is not under the current key again, one row a transaction, while the service runs.
/// Whoever changes or deletes a row meanwhile wins; cut short, it is simply run again.
ReencryptResult reencrypt(Session& session, const webhook::KeyRing& keys);

}  // namespace store
