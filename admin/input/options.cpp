#include "admin/input/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>

#include "admin/errors.hpp"
#include "lib/text/suggestion.hpp"
#include "lib/text/text.hpp"
#include "lib/text/utf8.hpp"

namespace admin {

namespace po = boost::program_options;

namespace {

// Only complete long options: `--dis` must not mean `--discard`.
constexpr int style = po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent |
                      po::command_line_style::long_allow_next;

po::options_description describe(const OptionTable& table) {
  po::options_description result;
  if (table.id != IdWord::none) result.add_options()("id", po::value<std::string>(), "");
  for (const auto& option : table.options) {
    const std::string name(option.name);
    if (option.value.empty()) {
      // No default, so that has() tells whether the flag was given.
      result.add_options()(name.c_str(), po::value<std::string>()->zero_tokens()->implicit_value(""), "");
    } else {
      result.add_options()(name.c_str(), po::value<std::string>(), "");
    }
  }
  return result;
}

std::string unknown_option(const OptionTable& table, const std::string& typed) {
  std::vector<std::string> known = {"--json", "--help", "--config"};
  for (const auto& option : table.options) known.push_back("--" + std::string(option.name));
  const auto near = text::nearest(typed, known);
  return "unknown option '" + typed + "'" + (near ? ": did you mean '" + *near + "'?" : "");
}

/// Throws UsageError for a value that begins with `--`, unless it was given as `--label=--read-only`. In
/// `--label --read-only` Boost takes `--read-only` for the value of --label; more likely the value is
/// missing.
void require_values(const po::parsed_options& parsed) {
  for (const auto& option : parsed.options) {
    const auto& tokens = option.original_tokens;
    if (option.position_key == -1 && tokens.size() == 2 && tokens[1].starts_with("--"))
      throw UsageError(tokens[0] + " needs a value (if it is " + tokens[1] + ": " + tokens[0] + "=" +
                       tokens[1] + ")");
  }
}

po::variables_map parse(const OptionTable& table, const std::vector<std::string>& words) {
  const auto description = describe(table);
  po::positional_options_description positions;
  if (table.id != IdWord::none) positions.add("id", 1);
  po::variables_map map;
  try {
    const auto parsed =
        po::command_line_parser(words).options(description).positional(positions).style(style).run();
    require_values(parsed);
    po::store(parsed, map);
  } catch (const po::unknown_option& e) {
    throw UsageError(unknown_option(table, e.get_option_name()));
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError(table.id == IdWord::none
                         ? "this command takes options only, no other words"
                         : "this command takes one ID, and a value with blanks needs quotes");
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  return map;
}

void require(const OptionTable& table, const Arguments& arguments) {
  if (table.id == IdWord::required && !arguments.has("id"))
    throw UsageError("the " + std::string(table.word) + " is missing");
  for (const auto& option : table.options) {
    if (option.required && !arguments.has(option.name)) {
      throw UsageError("--" + std::string(option.name) + " " + std::string(option.value) +
                       " is missing: " + std::string(option.description));
    }
  }
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

Arguments parse_options(const OptionTable& table, const std::vector<std::string>& words) {
  std::map<std::string, std::string, std::less<>> values;
  for (const auto& [name, value] : parse(table, words)) values[name] = value.as<std::string>();
  Arguments arguments(std::move(values), table.id != IdWord::none);
  require(table, arguments);
  return arguments;
}

std::string Arguments::shown(std::string_view name) const {
  return id_is_a_word_ && name == "id" ? "ID" : "--" + std::string(name);
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> Arguments::integer(std::string_view name, std::int64_t minimum,
                                               std::int64_t maximum) const {
  const auto typed = text(name);
  if (!typed) return std::nullopt;
  const auto value = text::parse_number<std::int64_t>(*typed);
  if (!value || *value < minimum || *value > maximum)
    throw UsageError(shown(name) + " must be an integer from " + std::to_string(minimum) + " to " +
                     std::to_string(maximum) + ", not '" + *typed + "'");
  return value;
}

std::optional<std::int64_t> Arguments::id(std::string_view name) const {
  const auto typed = text(name);
  if (!typed) return std::nullopt;
  const auto value = text::parse_number<std::int64_t>(*typed);
  if (!value || *value < 1)
    throw UsageError(shown(name) + " must be a positive integer, not '" + *typed + "'");
  return value;
}

std::optional<std::string> Arguments::line(std::string_view name, std::size_t maximum, bool blank) const {
  auto typed = text(name);
  if (!typed) return std::nullopt;
  const auto count = text::count_characters(*typed);
  const bool empty = typed->find_first_not_of(' ') == std::string::npos;
  if (!count || *count > maximum || has_control_characters(*typed) || (empty && !blank)) {
    throw UsageError(shown(name) + " must be one line of UTF-8 text of " + (blank ? "at most " : "1 to ") +
                     std::to_string(maximum) + " characters" + (empty && !blank ? ", and not blank" : ""));
  }
  return typed;
}

std::optional<platform::Milliseconds> Arguments::duration(std::string_view name,
                                                          platform::Milliseconds minimum,
                                                          platform::Milliseconds maximum) const {
  const auto typed = text(name);
  if (!typed) return std::nullopt;
  const auto value = platform::parse_duration(*typed);
  if (!value || *value < minimum || *value > maximum) {
    throw UsageError(shown(name) + " must be a duration from " + platform::format_duration(minimum) + " to " +
                     platform::format_duration(maximum) + " (30m, 12h, 90d), not '" + *typed + "'");
  }
  return value;
}

}  // namespace admin
