// Reads small files whole.
#pragma once

#include <stdexcept>
#include <string>

namespace platform {

/// what() is one line that names the path and the reason.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the bytes of a file of at most 1 MiB. Throws FileError.
std::string read_file(const std::string& path);

/// Reads a password or a token: as read_file, but removes trailing line feeds and carriage returns. Throws
/// FileError, also when nothing remains.
std::string read_secret_file(const std::string& path);

/// Throws FileError, with the remedy, if every user of this host may read or change the file.
void require_private(const std::string& path);

}  // namespace platform
