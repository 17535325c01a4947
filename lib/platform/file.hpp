// Reading small files whole.
#pragma once

#include <stdexcept>
#include <string>

namespace platform {

/// The message names the path and the reason, as one line.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The bytes of a file of at most 1 MiB. Throws FileError.
std::string read_file(const std::string& path);

/// read_file without the line end(s) at the end: for passwords and tokens. Throws FileError, also when the
/// rest is empty.
std::string read_secret_file(const std::string& path);

}  // namespace platform
