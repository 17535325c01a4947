// Restricts how a server may ask for the password.
#pragma once

#include <string>

namespace store {

/// Returns the client plugins that a session accepts, for libmariadb's option `restricted-auth`. Leaves out
/// mysql_clear_password and dialog, which send the password in clear text to any server that asks.
/// caching_sha2_password and sha256_password encrypt the password under a key that the server sends, so they
/// need `confidential`: verified TLS or the socket.
std::string accepted_authentication(bool confidential);

/// An option file of the client library, held in memory while the object exists. The connector has no other
/// way to set `restricted-auth`. Throws std::runtime_error when the file cannot be made.
class OptionFile {
 public:
  explicit OptionFile(const std::string& text);
  ~OptionFile();
  OptionFile(const OptionFile&) = delete;
  OptionFile& operator=(const OptionFile&) = delete;

  std::string path() const;

 private:
  int fd_;
};

}  // namespace store
