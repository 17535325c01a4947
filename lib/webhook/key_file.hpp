// Reads secrets.key_file, in the same way for all programs.
#pragma once

#include <optional>
#include <string>

#include "lib/platform/log.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace webhook {

/// Throws config::ConfigError. The message is one line; it names secrets.key_file, `path` and the number of
/// a faulty line. Also throws if every user of this host may read the file.
KeyRing read_key_file(const std::string& path);
/// As read_key_file; nullopt: this user cannot read the file.
std::optional<KeyRing> read_key_file_if_allowed(const std::string& path);

/// Replaces `keys` with the keys of the file at `path`; every later use in any thread sees them. If the file
/// cannot be read or has an error, keeps the present keys and logs the error instead of throwing it.
void reload_keys(SharedKeys& keys, const std::string& path, const platform::Log& log);

}  // namespace webhook
