// Secrets of webhooks in the database: sealed by AES-256-GCM under a key that is not in the database, and
// bound to the webhook (docs/security.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/webhook/ids.hpp"

namespace webhook {

/// what() is one line, `secrets.key_file: <path>: …`, with the number of a faulty line. It never shows a key.
struct KeyFileError : config::ConfigError {
  using config::ConfigError::ConfigError;
};

struct SealedSecret {
  std::string key_id;      // of the key that sealed it
  std::string ciphertext;  // binary, see crypto::seal
  bool operator==(const SealedSecret&) const = default;
};

/// The keys of secrets.key_file. Each line is `id:key`, where the key is 32 bytes in base64. The first key is
/// the current one; blank lines and `#` comments are skipped. An id is 1 to 32 of [A-Za-z0-9._-]. Our tools
/// make the id from the key: `k` and the start of the key's SHA-256. So keys from two installations
/// practically never have the same id, and one file can hold both.
class KeyRing {
 public:
  /// Throws KeyFileError, also when there is no key or an id repeats; the message names `path` unless it is
  /// empty.
  static KeyRing parse(std::string_view file_text, std::string_view path = {});

  const std::string& current_id() const { return current_; }
  bool has(std::string_view id) const { return keys_.contains(id); }
  /// The ids of all keys, in alphabetical order.
  std::vector<std::string> ids() const {
    std::vector<std::string> result;
    for (const auto& [id, key] : keys_) result.push_back(id);
    return result;
  }
  SealedSecret seal(WebhookId webhook, std::string_view secret) const;
  /// Returns nullopt when the key is unknown or the text was not sealed for this webhook.
  std::optional<std::string> open(WebhookId webhook, const SealedSecret& sealed) const;
  /// As seal() and open(), for an owner that is not a webhook. `owner` begins with the owner's kind, but
  /// never with `webhook:`, which seal() uses.
  SealedSecret seal_for(std::string_view owner, std::string_view text) const;
  std::optional<std::string> open_for(std::string_view owner, const SealedSecret& sealed) const;

  /// Returns a code that only a holder of the current key can compute for this text: 32 hexadecimal digits of
  /// HMAC-SHA256, under a key derived from the current key and `purpose`.
  std::string authenticate(std::string_view purpose, std::string_view text) const;
  /// What authenticate() returns if the current key is each key of the ring in turn.
  std::vector<std::string> authenticate_by_each(std::string_view purpose, std::string_view text) const;
  /// Whether authenticate() made the code under any key of the ring.
  bool is_authentic(std::string_view purpose, std::string_view text, std::string_view code) const;

 private:
  void add(std::string_view line, const std::string& place);

  std::string current_;
  std::map<std::string, std::string, std::less<>> keys_;
};

/// The present ring. One thread may replace it while others use it: a ring lives until its last user has
/// released it.
class SharedKeys {
 public:
  explicit SharedKeys(KeyRing ring) : ring_(std::make_shared<const KeyRing>(std::move(ring))) {}

  /// Never null.
  std::shared_ptr<const KeyRing> current() const {
    const std::scoped_lock lock(mutex_);
    return ring_;
  }
  void replace(KeyRing ring) {
    auto fresh = std::make_shared<const KeyRing>(std::move(ring));
    const std::scoped_lock lock(mutex_);
    ring_.swap(fresh);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const KeyRing> ring_;
};

}  // namespace webhook
