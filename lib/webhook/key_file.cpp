#include "lib/webhook/key_file.hpp"

#include "lib/platform/file.hpp"

namespace webhook {

namespace {

constexpr std::string_view key = "secrets.key_file";

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const auto& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

}  // namespace

KeyRing read_key_file(const std::string& path) {
  auto ring = KeyRing::parse(config::read_configured_file(key, path), path);
  config::require_private_file(key, path);
  return ring;
}

std::optional<KeyRing> read_key_file_if_allowed(const std::string& path) {
  try {
    return KeyRing::parse(platform::read_file(path), path);
  } catch (const platform::FileError&) {
    return std::nullopt;
  }
}

void reload_keys(SharedKeys& keys, const std::string& path, const platform::Log& log) {
  try {
    auto ring = read_key_file(path);
    const auto current = ring.current_id();
    const auto ids = joined(ring.ids());
    keys.replace(std::move(ring));
    log.info("keys reloaded", {{"current", current}, {"keys", ids}});
  } catch (const config::ConfigError& error) {
    log.error("keys not reloaded; the previous ones stay in force", {{"error", error.what()}});
  }
}

}  // namespace webhook
