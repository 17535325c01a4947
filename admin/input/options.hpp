// Parses the options of a command with Boost.Program_options, and reads their values by type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/clock.hpp"

namespace admin {

struct Option {
  std::string_view name;         // without the dashes
  std::string_view value;        // the value's name in --help; empty: a flag
  std::string_view description;  // one line
  bool required = false;
};

/// Whether a command takes an id as a word: `token revoke 3` (or `--id 3`).
enum class IdWord { none, required, optional };

struct OptionTable {
  IdWord id = IdWord::none;
  std::string_view word = "ID";  // what the word is, in --help
  std::vector<Option> options = {};
};

/// The option of commands that may change many rows.
inline constexpr Option dry_run{"dry-run", "", "change nothing; count what would change"};

/// The parsed options. The readers return nullopt for an absent option. For a wrong value they throw
/// UsageError, which names the option and what it accepts.
class Arguments {
 public:
  Arguments() = default;
  Arguments(std::map<std::string, std::string, std::less<>> values, bool id_is_a_word)
      : values_(std::move(values)), id_is_a_word_(id_is_a_word) {}

  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }
  bool has(std::string_view name) const { return values_.contains(name); }
  bool is_dry_run() const { return has(dry_run.name); }
  std::optional<std::string> text(std::string_view name) const;
  /// Requires a value from `minimum` to `maximum`, both included.
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t minimum,
                                      std::int64_t maximum) const;
  /// Reads an id: a positive 64-bit integer.
  std::optional<std::int64_t> id(std::string_view name) const;
  /// Reads an id that the command's OptionTable requires (IdWord::required or Option::required). It cannot be
  /// absent, because parse_options() has checked that.
  std::int64_t required_id(std::string_view name = "id") const { return id(name).value(); }
  /// Reads one line of at most `maximum` characters, without control characters. Unless `blank`, it must have
  /// a character that is not a space.
  std::optional<std::string> line(std::string_view name, std::size_t maximum, bool blank = false) const;
  std::optional<platform::Milliseconds> duration(std::string_view name, platform::Milliseconds minimum,
                                                 platform::Milliseconds maximum) const;

 private:
  std::string shown(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> values_;
  bool id_is_a_word_ = false;
};

/// Accepts no abbreviations and no repeated option. Throws UsageError.
Arguments parse_options(const OptionTable& table, const std::vector<std::string>& words);

}  // namespace admin
