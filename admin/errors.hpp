// The exceptions that end a command. what() is one line: what was wrong and, if there is one, the remedy.
#pragma once

#include <stdexcept>

namespace admin {

/// The command line is wrong: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command failed, or its object does not exist: exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace admin
