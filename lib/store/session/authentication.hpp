// Restricts how a server may ask for the password.
#pragma once

#include <string>

namespace store {

/// Returns the client plugins that a session accepts, for libmariadb's option `restricted-auth`. None of them
/// sends the password in clear text, as mysql_clear_password and dialog do for any server that asks. Two
/// encrypt the password under a key that the server sends, so these need `confidential`: verified TLS or the
/// socket.
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
