// Shared secrets at rest: AES-256-GCM under a key that is not in the database, bound to the webhook
// (docs/security.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/config.hpp"

namespace webhook {

/// One line: `secrets.key_file: <path>: line N: …`, never the key itself.
struct KeyFileError : platform::ConfigError {
  using platform::ConfigError::ConfigError;
};

struct SealedSecret {
  std::string key_id;      // which key of the ring sealed it
  std::string ciphertext;  // binary, see crypto::seal
  bool operator==(const SealedSecret&) const = default;
};

/// The keys of secrets.key_file: lines `id:base64` of 32 bytes, the first is current; blank lines and `#`
/// comments are skipped. An id is 1 to 32 of [A-Za-z0-9._-]; what makes keys takes `k` and the start of the
/// key's SHA-256, so that the keys of two installations can be in one file, but no id has to be so.
class KeyRing {
 public:
  /// Throws KeyFileError, also when there is no key or an id repeats; its message names `path`, unless empty.
  static KeyRing parse(std::string_view file_text, std::string_view path = {});

  const std::string& current_id() const { return current_; }
  bool has(std::string_view id) const { return keys_.contains(id); }
  /// Of every key, in alphabetical order.
  std::vector<std::string> ids() const {
    std::vector<std::string> result;
    for (const auto& [id, key] : keys_) result.push_back(id);
    return result;
  }
  SealedSecret seal(std::int64_t webhook_id, std::string_view secret) const;
  /// nullopt when the key is unknown or the text is not what was sealed for this webhook: fail closed.
  std::optional<std::string> open(std::int64_t webhook_id, const SealedSecret& sealed) const;
  /// The same for another owner than a webhook; `owner` says of which kind it is, and never `webhook:`.
  SealedSecret seal_for(std::string_view owner, std::string_view text) const;
  std::optional<std::string> open_for(std::string_view owner, const SealedSecret& sealed) const;

  /// A code that only who has the current key can make for this text (HMAC-SHA256 under a key made of it and
  /// of `purpose`): 32 hexadecimal digits.
  std::string authenticate(std::string_view purpose, std::string_view text) const;
  /// Made with any of the keys.
  bool is_authentic(std::string_view purpose, std::string_view text, std::string_view code) const;

 private:
  void add(std::string_view line, const std::string& place);

  std::string current_;
  std::map<std::string, std::string, std::less<>> keys_;
};

/// The ring in force, which one thread replaces while any number of others use it: each works to its end with
/// the ring that it took.
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
