// The network's thread: sends many POSTs at once over kept TLS connections (libcurl's multi interface). The
// thread does not use the database. Deliveries and diagnoses have a sender each.
//
// An attempt ends within delivery.timeout, including DNS. No connection, new or kept, is used to an address
// that lib/webhook/address_policy.hpp forbids, or to a port that lib/webhook/refused_ports.hpp forbids. No
// redirect is followed and no proxy used. Memory per response is bounded.
#pragma once

#include <memory>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "lib/config/config.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/watchdog.hpp"

namespace dispatcher {

class Sender {
 public:
  /// Starts the thread. `attempts` must outlive the sender. No webhook may reach `database_hosts`. Throws
  /// std::runtime_error if libcurl or the system fails.
  Sender(const config::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
         const std::vector<std::string>& database_hosts = {});
  /// Abandons what is in flight.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Each request comes back once, as an Attempt in `attempts`. A handshake or a lookup takes at most a
  /// little more than connect_timeout. Exception: a handshake or a lookup that has not begun before
  /// stop_starting() is dropped.
  void submit(std::vector<Request> requests);

  /// Hands back the requests that wait for a connection, as not_started; requests in flight go on.
  void return_waiting();
  /// As return_waiting(), and starts nothing more.
  void stop_starting();

  /// The network's thread beats it at least once a second.
  const platform::Heartbeat& heartbeat() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dispatcher
