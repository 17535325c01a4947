// The sources of values: file, environment and command line. Internal to the library; all functions throw
// ConfigError.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace config {

struct GivenValue {
  std::string text;
  std::string source;  // as KeyValue::source
  std::string place;   // for messages: "/etc/x.conf:3", "environment variable X", "command line"
};
/// Values by key. A source that is read later overrides earlier sources.
using GivenValues = std::map<std::string, GivenValue>;

/// Throws ConfigError with `message`, made into one line.
[[noreturn]] void throw_config_error(const std::string& message);

/// Reads INI: `[section]` and `key = value`. A comment begins with a `#` at the start of a line or after a
/// blank.
void read_config_file(const std::string& path, GivenValues& given);

/// Reads APIENTIDADES_SECTION_KEY=value; ignores variables with another prefix.
void read_environment(const std::vector<std::string>& environment, GivenValues& given);

/// Accepts only `--section.key=value` and `--section.key value`.
void read_arguments(const std::vector<std::string>& arguments, GivenValues& given);

}  // namespace config
