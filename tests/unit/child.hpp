// Runs code that changes or ends its process (signals, descriptors, environment) in a child process.
#pragma once

#include <functional>
#include <string>

namespace unit {

struct ChildResult {
  int status = -1;  // exit status, or 128 + the number of the signal that ended the child
  std::string out;
  std::string err;
};

/// The body's result is the child's exit status; 99 if the body throws.
ChildResult run_in_child(const std::function<int()>& body);

}  // namespace unit
