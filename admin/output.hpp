// What a command gives back, and where it goes: results to standard output, the rest to standard error.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json/json.hpp"
#include "lib/platform/program.hpp"

namespace admin {

struct Result {
  json::Value value;                  // an array of objects: a list; an object: one thing; null: said already
  std::optional<std::string> text{};  // what people read in place of the value
  std::string note{};                 // one line more for people, beside the result
  std::vector<std::string> problems{};  // one line each on standard error, whatever the format
  int status = platform::exit_done;
};

struct Output {
  std::ostream& out;
  std::ostream& err;
  bool json = false;
  bool terminal = false;  // whether `out` is one: it can be redrawn, and long cells are cut
};

void print(const Output& output, const Result& result);

/// `apientidades-admin: message`, on one line of standard error whatever the message holds.
void complain(const Output& output, std::string_view message);

}  // namespace admin
