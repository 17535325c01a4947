// The ring of secrets.key_file.
#pragma once

#include <string>

#include "webhook/sealed_secret.hpp"

namespace admin {

/// Throws platform::ConfigError, which names the key and the file.
webhook::KeyRing read_key_ring(const std::string& path);

}  // namespace admin
