// The sealed secrets of `webhooks`, as a whole.
#pragma once

#include <string>
#include <vector>

#include "store/session.hpp"
#include "webhook/sealed_secret.hpp"

namespace store {

struct SecretsOfKey {
  std::string key_id;
  std::int64_t webhooks;
};
/// How many secrets each key seals.
std::vector<SecretsOfKey> secrets_by_key(Session& session);

struct ReencryptResult {
  std::uint64_t resealed = 0;
  std::uint64_t unreadable =
      0;  // sealed by a key that is not in the ring, or tampered with: left as they are
};
/// Seals every secret that is not under the current key again, one webhook a transaction, while the service
/// runs.
ReencryptResult reencrypt_secrets(Session& session, const webhook::KeyRing& keys);

}  // namespace store
