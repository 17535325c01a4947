#include "admin/input/command_line.hpp"

#include <algorithm>

#include "admin/errors.hpp"

namespace admin {

namespace {

/// Whether the word sets a configuration key: a key has a dot, and no command's option has a dot.
bool is_setting(const std::string& word) {
  const auto name = word.substr(0, word.find('='));
  return name.starts_with("--") && name.find('.') != std::string::npos;
}

bool is_option(const std::string& word) { return word.starts_with("--"); }

}  // namespace

CommandLine split_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  const auto terminator = std::ranges::find(arguments, "--");
  for (auto word = arguments.begin(); word != terminator; ++word) {
    const auto next = word + 1;
    const bool value_follows = next != terminator && !is_option(*next);
    if (*word == "--help" || *word == "-h") {
      line.help = true;
    } else if (*word == "--version") {
      line.version = true;
    } else if (*word == "--json") {
      line.json = true;
    } else if (word->starts_with("--config=")) {
      line.config_file = word->substr(std::string("--config=").size());
    } else if (*word == "--config") {
      if (!value_follows) throw UsageError("--config needs a value: the path of the configuration file");
      line.config_file = *++word;
    } else if (is_setting(*word)) {
      const bool two_words = word->find('=') == std::string::npos && value_follows;
      line.settings.push_back(two_words ? *word + "=" + *next : *word);
      if (two_words) ++word;
    } else {
      line.words.push_back(*word);
    }
  }
  line.words.insert(line.words.end(), terminator, arguments.end());
  return line;
}

}  // namespace admin
