// secrets.key_file on the disk: the one place of this library that reads a file, so that the programs do it
// alike.
#pragma once

#include <string>

#include "lib/platform/log.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace webhook {

/// Throws platform::ConfigError, whose one line names secrets.key_file, `path`, and the line that is wrong.
KeyRing read_key_file(const std::string& path);

/// Puts the keys that `path` holds now in force; every thread's next use has them when this returns. A file
/// that cannot be read whole and well leaves the keys as they are, and the log says what is wrong with it.
/// Never throws for the file.
void reload_keys(SharedKeys& keys, const std::string& path, const platform::Log& log);

}  // namespace webhook
