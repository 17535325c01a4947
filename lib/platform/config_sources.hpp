// Where values come from: the file, the environment and the command line, each read by Boost.Program_options
// or as simply as it can be. Internal to the library; all throw ConfigError.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace platform {

struct GivenValue {
  std::string text;
  std::string source;  // as KeyValue::source
  std::string place;   // for messages: "/etc/x.conf:3", "environment variable X", "command line"
};
/// By key. A source that is read later replaces what an earlier one gave.
using GivenValues = std::map<std::string, GivenValue>;

/// Throws ConfigError with `message` as one line, whatever it quotes.
[[noreturn]] void throw_config_error(const std::string& message);

/// INI: `[section]`, `key = value`, comments from a `#` that begins a line or follows a blank.
void read_config_file(const std::string& path, GivenValues& given);

/// APIENTIDADES_SECTION_KEY=value; other variables are not ours.
void read_environment(const std::vector<std::string>& environment, GivenValues& given);

/// `--section.key=value` or `--section.key value`, nothing else.
void read_arguments(const std::vector<std::string>& arguments, GivenValues& given);

}  // namespace platform
