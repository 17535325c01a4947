// What ends a command early. Each message is one line that names what was wrong and what to do about it.
#pragma once

#include <stdexcept>

namespace admin {

/// The command line asks for what there is not: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// It was understood and could not be done, or there is no such thing: exit status 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace admin
