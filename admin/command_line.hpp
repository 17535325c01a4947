// The options that every command has, found anywhere on the line and taken out of it.
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
  std::vector<std::string> settings;  // `--section.key=value`, for platform::load_config
  std::vector<std::string> words;     // the command, its options and their values, in order
};

/// `arguments`: argv without the program's name. Words after `--` are left alone. Throws UsageError.
CommandLine split_command_line(const std::vector<std::string>& arguments);

}  // namespace admin
