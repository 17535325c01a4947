#include "lib/store/session/authentication.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace store {

std::string accepted_authentication(bool confidential) {
  const std::string proofs = "mysql_native_password,client_ed25519,parsec";
  return confidential ? proofs + ",caching_sha2_password,sha256_password" : proofs;
}

/// Throws when the file cannot be made: the database's client library ignores a file that it cannot open, and
/// would then accept any authentication plugin.
OptionFile::OptionFile(const std::string& text) : fd_(::memfd_create("database-options", MFD_CLOEXEC)) {
  const bool written =
      fd_ >= 0 && ::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written && ::access(path().c_str(), R_OK) == 0) return;
  if (fd_ >= 0) ::close(fd_);
  throw std::runtime_error(
      "the options of the database's client library could not be written (is /proc there?)");
}

OptionFile::~OptionFile() { ::close(fd_); }

std::string OptionFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

}  // namespace store
