// The table of configuration keys: documentation and reading of each key, side by side. Internal to the
// library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/config/config.hpp"

namespace config {

struct ConfigKey {
  KeyDoc doc;
  /// Stores the value of the text in the settings. Throws std::invalid_argument when the text is not what
  /// `doc.accepts` says.
  std::function<void(Settings&, const std::string&)> read;
};

const std::vector<ConfigKey>& config_table();

}  // namespace config
