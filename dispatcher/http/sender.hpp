// The network's thread: many POSTs in flight over kept TLS connections (libcurl's multi interface). No SQL
// here.
//
// It promises: an attempt ends within delivery.timeout, DNS included; no address is dialled that may_connect
// refuses, and no port of another protocol, on new and on reused connections; redirects and proxies are never
// followed; memory per response is bounded.
#pragma once

#include <memory>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/watchdog.hpp"

namespace dispatcher {

class Sender {
 public:
  /// Starts the thread. `attempts` outlives the sender; `database_hosts` are dialled for no webhook. Throws
  /// std::runtime_error when libcurl or the CA file fails.
  Sender(const platform::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
         const std::vector<std::string>& database_hosts = {});
  /// Abandons what is in flight.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Each request comes back as exactly one Attempt.
  void submit(std::vector<Request> requests);
  /// Looks whether somebody is there, by a TLS handshake without a request or by looking a name up: each
  /// comes back as one Check within connect_timeout or a little more.
  void check(std::vector<Request> requests);
  std::vector<Check> take_checks();

  /// What waits for a connection comes back as not_started; what is in flight goes on to its end.
  void return_waiting();
  /// The same, and nothing more is started.
  void stop_starting();

  /// Beaten by the network's thread at every turn, at least once a second.
  const platform::Heartbeat& heartbeat() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dispatcher
