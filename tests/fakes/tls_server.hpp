// A TLS server in this process, on loopback, for tests of the sender: it reads requests and writes the bytes
// that the test gives it. Each connection has a thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_st;

namespace fakes {

/// An accepted connection, for use in the thread that serves it.
class TlsConnection {
 public:
  TlsConnection(ssl_st* tls, int number) : tls_(tls), number_(number) {}

  int number() const { return number_; }  // connections are numbered from 1, as they are made
  /// Sends one TLS record. False: the other side has closed.
  bool send(std::string_view bytes);
  /// Returns the TLS record that send() would send.
  std::string seal(std::string_view bytes);
  /// Sends bytes without sealing them in a TLS record. False: not all could be sent.
  bool send_raw(std::string_view bytes);
  /// Sends a session ticket, as a server may at any time.
  bool send_ticket();
  /// Returns the TLS records that `count` calls of send_ticket() would send.
  std::string seal_tickets(int count);
  /// Repeats the handshake on this connection, which must be TLS 1.2. False: the client refuses.
  bool renegotiate();

 private:
  ssl_st* tls_;
  int number_;
};

struct TlsOptions {
  const char* groups = nullptr;  // of the key exchange, in OpenSSL's notation; nullptr: OpenSSL's defaults
  bool old = false;              // TLS 1.2 instead of 1.3
};

/// Serves until it is destroyed, with a certificate of its own for *.receptor.test.
class TlsServer {
 public:
  /// The server calls a script for each request, and with an empty `request` after each millisecond without
  /// bytes from the other side. The script returns false to close the connection.
  using Script = std::function<bool(TlsConnection&, std::string_view request)>;

  explicit TlsServer(Script script, const TlsOptions& options = {});
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  int port() const;
  /// A file with the certificate, for delivery.ca_file.
  const std::string& ca_file() const;
  /// Connections made so far.
  int connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fakes
