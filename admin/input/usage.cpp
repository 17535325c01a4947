#include "admin/input/usage.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/commands.hpp"
#include "lib/program/program.hpp"

namespace admin {

namespace {

constexpr std::string_view everywhere =
    "Everywhere on the line\n"
    "  --json               the result as JSON: a list is an array, one thing an object\n"
    "  --config FILE        the configuration (/etc/apientidades/apientidades.conf)\n"
    "  --section.key=value  a configuration key, over the file and the environment (`config --help` lists "
    "them)\n"
    "  --help, --version\n";

std::string synopsis_of(const Option& option) {
  std::string text = "--" + std::string(option.name);
  if (!option.value.empty()) text += " " + std::string(option.value);
  return text;
}

/// For example "token list [--entity N]".
std::string synopsis(const Command& command) {
  std::string text(command.words);
  if (command.options.id == IdWord::required) text += " " + std::string(command.options.word);
  if (command.options.id == IdWord::optional) text += " [" + std::string(command.options.word) + "]";
  for (const auto& option : command.options.options) {
    const auto shown = synopsis_of(option);
    text += option.required ? " " + shown : " [" + shown + "]";
  }
  return text;
}

/// Formats each pair as a line, in two columns.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t widest = 0;
  for (const auto& [left, right] : lines) widest = std::max(widest, left.size());
  std::string text;
  for (auto [left, right] : lines) {
    left.resize(widest, ' ');
    text.append("  ").append(left).append("  ").append(right).append("\n");
  }
  return text;
}

std::string summaries(std::string_view group) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& command : all_commands()) {
    if (group.empty() || group_of(command) == group)
      lines.emplace_back(std::string(command.words), std::string(command.summary));
  }
  return two_columns(lines);
}

std::string usage_line(const std::string& rest) {
  return "Usage: " + std::string(program_name) + " " + rest + "\n";
}

}  // namespace

std::string program_usage() {
  return usage_line("COMMAND [OPTIONS]") + "\nCommands (COMMAND --help explains each one)\n" + summaries({}) +
         "\n" + std::string(everywhere) +
         "\nExit status: 0 done, 1 failed or not found, 2 usage or configuration\n"
         "\nExample: an entity and its token\n"
         "  apientidades-admin entity add --id 7 --name 'Universidad de Ejemplo'\n"
         "  apientidades-admin token issue --entity 7 --ttl 365d --label produccion\n"
         "\nWhat to do in each situation: docs/operations.md, in /usr/share/doc/apientidades once "
         "installed\n";
}

std::string group_usage(std::string_view group) {
  std::string synopses;
  std::string example;
  for (const auto& command : all_commands()) {
    if (group_of(command) != group) continue;
    synopses += "  " + synopsis(command) + '\n';
    example += "  " + std::string(command.example) + '\n';
  }
  return usage_line(std::string(group) + " COMMAND [OPTIONS]") + "\nCommands\n" + summaries(group) +
         "\nOptions of each (COMMAND --help explains them)\n" + synopses + "\nExamples\n" + example +
         (group == "config" ? "\n" + program::describe_keys() : "");
}

std::string command_usage(const Command& command) {
  std::string text = usage_line(synopsis(command)) + "\n" + std::string(command.summary) + ".\n";
  if (!command.details.empty()) text += std::string(command.details) + "\n";
  if (!command.options.options.empty()) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& option : command.options.options)
      lines.emplace_back(synopsis_of(option), std::string(option.description));
    text += "\nOptions\n" + two_columns(lines);
  }
  return text + "\n" + std::string(everywhere) + "\nExample\n  " + std::string(command.example) + "\n";
}

}  // namespace admin
