// Separates the options that every command has, and that may stand anywhere on the line, from the command's
// words.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace admin {

struct CommandLine {
  bool help = false;
  bool version = false;
  bool json = false;
  std::optional<std::string> config_file;
  std::vector<std::string> settings;  // `--section.key=value`, for config::load_config
  std::vector<std::string> words;     // the command, its options and their values, in order
};

/// `arguments`: argv without the program's name. What follows `--` goes to `words` as it is. Throws
/// UsageError.
CommandLine split_command_line(const std::vector<std::string>& arguments);

}  // namespace admin
