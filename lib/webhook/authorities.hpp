// The files of certificate authorities that the configuration names.
#pragma once

#include <string>
#include <string_view>

#include "lib/config/config.hpp"

namespace webhook {

/// The authorities of the receivers: delivery.ca_file, else the system's.
std::string receivers_ca_file(const config::DeliverySettings& settings);

/// Checks that the file holds certificates in PEM, all of them whole. Throws config::ConfigError, which
/// names the key.
void require_authorities(std::string_view key, const std::string& path);

}  // namespace webhook
