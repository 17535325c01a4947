#include "lib/config/sources.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <set>
#include <sstream>

#include "lib/config/keys.hpp"
#include "lib/platform/file.hpp"
#include "lib/text/suggestion.hpp"
#include "lib/text/text.hpp"

namespace config {

namespace options = boost::program_options;

namespace {

constexpr std::string_view environment_prefix = "APIENTIDADES_";
constexpr std::string_view see_manual = " (apientidades.conf(5) lists the keys)";

/// The end of a message about a word that is none of `known`. More than three wrong letters are another key.
std::string suggestion(std::string_view typed, const std::vector<std::string>& known) {
  const auto near = text::nearest(typed, known, 3);
  return (near ? "; did you mean " + *near + "?" : "") + std::string(see_manual);
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  for (const auto& key : config_table()) keys.push_back(key.doc.name);
  return keys;
}

options::options_description known_options() {
  options::options_description result;
  for (const auto& key : config_table())
    result.add_options()(key.doc.name.c_str(), options::value<std::string>());
  return result;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(config_table(), [name](const ConfigKey& key) {
    return std::string_view(key.doc.name).substr(0, key.doc.name.find('.')) == name;
  });
}

std::string text_of(const options::option& option) {
  return option.value.empty() ? std::string() : option.value.front();
}

/// Whether the line's first `#` is inside a word, and so probably belongs to the value. Boost ends the value
/// at any `#` and drops the rest without a message.
bool hides_text(std::string_view line) {
  const auto mark = line.find('#');
  return mark != std::string_view::npos && mark > 0 && line[mark - 1] != ' ' && line[mark - 1] != '\t';
}

/// Reads a configuration file line by line, so that each message can name its line.
class FileReader {
 public:
  explicit FileReader(const std::string& path) : path_(path) {}

  void read(const std::string& line) {
    place_ = path_ + ":" + std::to_string(++number_);
    const auto content = text::trim(std::string_view(line).substr(0, line.find('#')));
    if (content.empty()) return;
    if (content.front() == '[' && content.back() == ']') {
      enter(std::string(content.substr(1, content.size() - 2)));
    } else {
      read_key(line);
    }
  }

  const GivenValues& values() const { return values_; }

 private:
  void enter(const std::string& section) {
    if (!is_section(section))
      throw_config_error(place_ + ": unknown section [" + section + "]" + std::string(see_manual));
    section_ = section;
  }

  void read_key(const std::string& line) {
    const auto option = parse(line);
    const auto& key = option.string_key;
    if (section_.empty())
      throw_config_error(place_ + ": key " + key + " stands before any [section]" + std::string(see_manual));
    if (option.unregistered)
      throw_config_error(place_ + ": unknown key " + key + suggestion(key, known_keys()));
    if (hides_text(line))
      throw_config_error(place_ + ": " + key +
                         ": a value cannot contain #; a comment needs a blank before it");
    const GivenValue value{text_of(option), place_, place_};
    if (const auto [first, added] = values_.emplace(key, value); !added)
      throw_config_error(place_ + ": key " + key + " was given already, at " + first->second.place);
  }

  options::option parse(const std::string& line) const {
    try {
      std::istringstream stream((section_.empty() ? "" : "[" + section_ + "]\n") + line);
      const auto parsed = options::parse_config_file(stream, known_, true).options;
      if (!parsed.empty()) return parsed.front();
    } catch (const options::error&) {
      // The error below replaces Boost's message.
    }
    throw_config_error(place_ + ": " + text::in_quotes(text::trim(line)) +
                       " is neither [section] nor key = value");
  }

  const options::options_description known_ = known_options();
  std::string path_;
  std::string section_;
  std::size_t number_ = 0;
  std::string place_;
  GivenValues values_;
};

std::string file_text(const std::string& path) {
  try {
    return platform::read_file(path);
  } catch (const platform::FileError& error) {
    throw_config_error(std::string("configuration file ") + error.what());
  }
}

std::string variable_of(const std::string& key) {
  std::string name(environment_prefix);
  for (const char c : key) name += c == '.' ? '_' : text::upper(c);
  return name;
}

/// Replaces `--key=` with `--key` and an empty word. Boost refuses `--key=`, but users need an empty value,
/// which clears a list.
std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const auto& argument : arguments) {
    const bool is_empty = argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    words.push_back(is_empty ? argument.substr(0, argument.size() - 1) : argument);
    if (is_empty) words.emplace_back();
  }
  return words;
}

std::vector<options::option> parse_arguments(const std::vector<std::string>& arguments) {
  namespace style = options::command_line_style;
  // No abbreviations: a key added later must not change the meaning of a command line.
  constexpr int exact = style::unix_style & ~style::allow_guessing & ~style::allow_short;
  try {
    const auto known = known_options();
    return options::command_line_parser(split_empty_values(arguments))
        .options(known)
        .style(exact)
        .run()
        .options;
  } catch (const options::unknown_option& error) {
    const auto option = error.get_option_name();
    const auto name = option.substr(0, option.find('='));
    const auto key = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    throw_config_error("command line: unknown option " + text::in_quotes(option) +
                       suggestion(key, known_keys()));
  } catch (const options::error& error) {
    throw_config_error(std::string("command line: ") + error.what() + std::string(see_manual));
  }
}

}  // namespace

void throw_config_error(const std::string& message) { throw ConfigError(text::one_line(message)); }

void read_config_file(const std::string& path, GivenValues& given) {
  std::istringstream lines(file_text(path));
  FileReader reader(path);
  for (std::string line; std::getline(lines, line);) reader.read(line);
  for (const auto& [key, value] : reader.values()) given.insert_or_assign(key, value);
}

void read_environment(const std::vector<std::string>& environment, GivenValues& given) {
  std::map<std::string, std::string> keys;
  std::vector<std::string> variables;
  for (const auto& key : config_table()) {
    variables.push_back(variable_of(key.doc.name));
    keys.emplace(variables.back(), key.doc.name);
  }
  for (const auto& assignment : environment) {
    if (!assignment.starts_with(environment_prefix)) continue;
    const auto equals = std::min(assignment.find('='), assignment.size());
    const auto variable = assignment.substr(0, equals);
    const auto key = keys.find(variable);
    if (key == keys.end())
      throw_config_error("environment variable " + variable + " names no key" +
                         suggestion(variable, variables));
    const auto text = equals == assignment.size() ? std::string() : assignment.substr(equals + 1);
    given.insert_or_assign(key->second, GivenValue{text, "environment", "environment variable " + variable});
  }
}

void read_arguments(const std::vector<std::string>& arguments, GivenValues& given) {
  std::set<std::string> seen;
  for (const auto& option : parse_arguments(arguments)) {
    if (option.position_key >= 0)
      throw_config_error("command line: unexpected argument " + text::in_quotes(text_of(option)) +
                         "; expected --section.key=value" + std::string(see_manual));
    if (!seen.insert(option.string_key).second)
      throw_config_error("command line: --" + option.string_key + " is given twice");
    given.insert_or_assign(option.string_key, GivenValue{text_of(option), "command line", "command line"});
  }
}

}  // namespace config
