// The one table of configuration keys: documentation and reading of each, side by side. Internal to the
// library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/platform/config.hpp"

namespace platform {

struct ConfigKey {
  KeyDoc doc;
  /// Reads the text into the settings; throws std::invalid_argument when it is not what `doc.accepts` says.
  std::function<void(Settings&, const std::string&)> read;
};

const std::vector<ConfigKey>& config_table();

}  // namespace platform
