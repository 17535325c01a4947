#include "lib/webhook/authorities.hpp"

#include "lib/crypto/crypto.hpp"

namespace webhook {

std::string receivers_ca_file(const config::DeliverySettings& settings) {
  return settings.ca_file.empty() ? "/etc/ssl/certs/ca-certificates.crt" : settings.ca_file;
}

void require_authorities(std::string_view key, const std::string& path) {
  config::require_certificates(key, path);
  if (!crypto::can_load_certificates(path))
    throw config::ConfigError(std::string(key) + ": " + path + ": a certificate in it is cut off or damaged");
}

}  // namespace webhook
