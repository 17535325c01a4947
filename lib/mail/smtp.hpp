// Sends mails by SMTP: the adapter of libcurl for it. TLS is required, by STARTTLS or smtps://, unless the
// server is this host's (docs/configuration.md#the-keys).
#pragma once

#include <memory>
#include <string>

#include "lib/config/config.hpp"

namespace mail {

enum class Sent {
  accepted,
  refused,      // for good: the server answered that the mailbox does not exist or is disabled
  deferred,     // a later try may succeed; whether the server has taken the mail may be unknown
  unavailable,  // as deferred, and another mail would fare no better now
};

struct SendResult {
  Sent outcome;
  std::string text;  // one line for the operator; empty if accepted
};

/// Keeps its connection between mails. Used by one thread.
class SmtpClient {
 public:
  /// Reads mail.password_file. Throws config::ConfigError, which names the key.
  explicit SmtpClient(const config::MailSettings& settings);
  ~SmtpClient();
  SmtpClient(const SmtpClient&) = delete;
  SmtpClient& operator=(const SmtpClient&) = delete;

  /// `message`: as mail::format() returns it. Takes at most longest_send.
  SendResult send(const std::string& to, const std::string& message);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

inline constexpr std::chrono::seconds longest_send{60};

/// Whether the host of mail.server is this host, so that STARTTLS is not required.
bool is_loopback_server(const std::string& server);

}  // namespace mail
