// What a server may ask for at the login.
#pragma once

#include <string>

namespace store {

/// The client plugins that a session accepts, as libmariadb's option `restricted-auth`. None of them sends
/// the password as it is, as mysql_clear_password and dialog do for any server that asks. Two encrypt it
/// under a key that the server itself gives: only where `confidential`, over verified TLS or the socket.
std::string accepted_authentication(bool confidential);

/// An option file of the client library that is on no disk: the connector passes `restricted-auth` on in no
/// other way. There while the object is. Throws std::runtime_error when there can be none.
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
