// The result of a command, and its destination: results to standard output, the rest to standard error.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json/json.hpp"
#include "lib/program/program.hpp"

namespace admin {

/// A new file that its owner alone can read. Written once the command is done: a transaction may run more
/// than once.
struct PrivateFile {
  std::string path;
  std::string text;
  std::string remedy;  // what to do if it cannot be written
};

struct Result {
  json::Value value;                  // array of objects: a list; object: one thing; null: no value to print
  std::optional<std::string> text{};  // printed for people instead of the value
  std::string note{};                 // one further line for people
  std::vector<std::string> problems{};  // one line each on standard error, in every format
  std::optional<PrivateFile> file{};
  int status = program::exit_done;
};

struct Output {
  std::ostream& out;
  std::ostream& err;
  bool json = false;
  bool terminal = false;  // whether `out` is a terminal: it can be redrawn, and long cells are cut
};

/// Also writes the result's file; throws Failure if that is impossible.
void print(const Output& output, const Result& result);

/// Prints `apientidades-admin: message` on standard error, always as one line.
void complain(const Output& output, std::string_view message);

}  // namespace admin
