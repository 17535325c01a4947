// Loads a configuration from a file's text, environment variables and options, and returns the configuration
// or the error message.
#pragma once

#include <string>
#include <vector>

#include "lib/config/config.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace unit {

struct Sources {
  std::string file{};
  std::vector<std::string> environment{};
  std::vector<std::string> arguments{};
};

inline config::Config load(const Sources& sources) {
  const TemporaryFolder folder;
  return config::load_config(sources.arguments, folder.write("test.conf", sources.file), sources.environment);
}

/// Returns the message of the ConfigError, without the temporary folder in the first path that it names.
/// Returns "no error" if the configuration is loaded.
inline std::string config_failure(const Sources& sources) {
  const TemporaryFolder folder;
  try {
    config::load_config(sources.arguments, folder.write("test.conf", sources.file), sources.environment);
  } catch (const config::ConfigError& error) {
    std::string message = error.what();
    const auto at = message.find(folder.path() + "/");
    return at == std::string::npos ? message : message.erase(at, folder.path().size() + 1);
  }
  return "no error";
}

inline config::KeyValue value_in_force(const config::Config& config, const std::string& name) {
  for (const auto& value : config.values) {
    if (value.name == name) return value;
  }
  return {};
}

}  // namespace unit
