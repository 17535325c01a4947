#include "platform/config.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <map>
#include <sstream>

#include "platform/config_keys.hpp"
#include "platform/file.hpp"
#include "platform/service_manager.hpp"

namespace platform {

namespace options = boost::program_options;

namespace {

struct Given {
  std::string text;
  std::string source;
};
using GivenValues = std::map<std::string, Given>;

constexpr std::string_view environment_prefix = "APIENTIDADES_";

options::options_description descriptions() {
  options::options_description result;
  for (const auto& key : config_table())
    result.add_options()(key.doc.name.c_str(), options::value<std::string>());
  return result;
}

std::string variable_of(const std::string& key) {
  std::string name(environment_prefix);
  for (const char c : key)
    name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

/// The line of a file that gives `key`, for the message; 0 when it is not found.
std::size_t line_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  std::string line;
  std::string section;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    if (line[first] == '[') section = line.substr(first + 1, line.find(']') - first - 1) + ".";
    const auto end = line.find_first_of(" \t=", first);
    if (section + line.substr(first, end - first) == key) return number;
  }
  return 0;
}

std::string place(const std::string& path, const std::string& text, const std::string& key) {
  const auto line = line_of(text, key);
  return line == 0 ? path : path + ":" + std::to_string(line);
}

[[noreturn]] void throw_unknown(const std::string& where, const std::string& key) {
  throw ConfigError(where + ": unknown key " + key + " (--help lists them all)");
}

void read_config_file(const std::string& path, GivenValues& given) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const FileError& error) {
    throw ConfigError(std::string("configuration file ") + error.what());
  }
  try {
    std::istringstream stream(text);
    // Unregistered keys are let through and refused below, with their line.
    for (const auto& option : options::parse_config_file(stream, descriptions(), true).options) {
      const auto where = place(path, text, option.string_key);
      if (option.unregistered) throw_unknown(where, option.string_key);
      if (given.contains(option.string_key))
        throw ConfigError(where + ": " + option.string_key + " is given twice");
      given[option.string_key] = {option.value.empty() ? std::string() : option.value.front(), where};
    }
  } catch (const options::error& error) {
    throw ConfigError(path + ": " + error.what());
  }
}

void read_environment(const std::vector<std::string>& environment, GivenValues& given) {
  std::map<std::string, std::string> keys;
  for (const auto& key : config_table()) keys.emplace(variable_of(key.doc.name), key.doc.name);
  for (const auto& assignment : environment) {
    if (!assignment.starts_with(environment_prefix)) continue;
    const auto equals = assignment.find('=');
    const auto variable = assignment.substr(0, equals);
    const auto key = keys.find(variable);
    if (key == keys.end())
      throw ConfigError("environment variable " + variable + " names no key (--help lists them all)");
    given[key->second] = {equals == std::string::npos ? std::string() : assignment.substr(equals + 1),
                          "environment"};
  }
}

void read_arguments(const std::vector<std::string>& arguments, GivenValues& given) {
  namespace style = options::command_line_style;
  // No guessing of abbreviated names: a key that is added later must not change what a command line means.
  constexpr int exact = style::unix_style & ~style::allow_guessing & ~style::allow_short;
  const auto known = descriptions();
  try {
    std::map<std::string, bool> seen;
    for (const auto& option :
         options::command_line_parser(arguments).options(known).style(exact).run().options) {
      if (option.position_key >= 0)
        throw ConfigError("command line: unexpected argument " + option.value.front());
      if (std::exchange(seen[option.string_key], true))
        throw ConfigError("command line: --" + option.string_key + " is given twice");
      given[option.string_key] = {option.value.empty() ? std::string() : option.value.front(),
                                  "command line"};
    }
  } catch (const options::error& error) {
    throw ConfigError(std::string("command line: ") + error.what() + " (--help lists the keys)");
  }
}

std::string source_name(const std::string& key, const std::string& source) {
  if (source == "environment") return "environment variable " + variable_of(key);
  if (source == "command line") return "command line, --" + key;
  return source;
}

void apply(Config& config, const ConfigKey& key, const GivenValues& given) {
  const auto found = given.find(key.doc.name);
  const Given value = found == given.end() ? Given{key.doc.default_value, "default"} : found->second;
  try {
    key.read(config.settings, value.text);
  } catch (const std::invalid_argument&) {
    throw ConfigError(source_name(key.doc.name, value.source) + ": " + key.doc.name + " = \"" + value.text +
                      "\" is not accepted; expected: " + key.doc.accepts);
  }
  config.values.push_back({key.doc.name, value.text, value.source});
}

/// A systemd credential stands in for the default path of the key file.
void apply_credentials(Config& config, const GivenValues& given) {
  if (given.contains("secrets.key_file")) return;
  const auto path = credential_path("secrets.keys");
  if (!path) return;
  config.settings.secrets.key_file = *path;
  for (auto& value : config.values) {
    if (value.name == "secrets.key_file") value = {value.name, *path, "systemd credential"};
  }
}

void check_together(const DeliverySettings& delivery) {
  constexpr Milliseconds margin{10000};
  if (delivery.lease < delivery.timeout + margin) {
    throw ConfigError("delivery.lease (" + format_duration(delivery.lease) +
                      ") must be at least delivery.timeout + 10s (" +
                      format_duration(delivery.timeout + margin) +
                      "): an attempt must end before another may begin it again");
  }
  if (delivery.connect_timeout > delivery.timeout) {
    throw ConfigError("delivery.connect_timeout (" + format_duration(delivery.connect_timeout) +
                      ") must be at most delivery.timeout (" + format_duration(delivery.timeout) + ")");
  }
}

}  // namespace

Config load_config(const std::optional<std::string>& file, const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment) {
  GivenValues given;
  const std::string path = file.value_or(std::string(default_config_path));
  if (file || std::filesystem::exists(path)) read_config_file(path, given);
  read_environment(environment, given);
  read_arguments(arguments, given);
  Config config;
  for (const auto& key : config_table()) apply(config, key, given);
  apply_credentials(config, given);
  check_together(config.settings.delivery);
  return config;
}

std::string read_configured_file(std::string_view key, const std::string& path) {
  try {
    return read_file(path);
  } catch (const FileError& error) {
    throw ConfigError(std::string(key) + ": " + error.what());
  }
}

}  // namespace platform
