// libcurl's callbacks during a transfer: connections, and the head and body of the answer.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/http/socket.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/delivery/observation.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

/// The state that all transfers share.
struct Connections {
  unsigned sockets = 0;            // open sockets, in use or kept
  std::vector<CURL*> interrupted;  // transfers to be removed from their multi handle
};

/// The state that the callbacks of one transfer read and write.
struct Progress {
  /// What libcurl says of an error.
  std::array<char, CURL_ERROR_SIZE> message{};
  CURL* handle = nullptr;
  const config::DeliverySettings* settings = nullptr;
  Connections* connections = nullptr;
  delivery::Observation* observed = nullptr;   // of the request; nullptr: none is wanted
  std::string host;                            // of the request, without its port
  std::chrono::seconds life{};                 // how long a connection may be kept
  std::optional<platform::IpAddress> address;  // to be dialled, dialled last, or the kept connection's
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  platform::MonotonicTime last_byte{};                 // of head or body
  platform::MonotonicTime deadline{};                  // no request is sent later
  delivery::LocalFault fault{};                        // of this host, which ends the attempt
  int status = 0;                                      // of the answer
  std::optional<platform::UtcTime> certificate_end{};  // of the receiver's, if the connection is new
  Socket dialled;                                      // connected by the dialler, for the new connection
  int opened = -1;            // socket of a new connection that has sent no request yet
  std::uint16_t port = 0;     // the port that the dialler must dial
  bool literal = false;       // the URL has an address, so no name is looked up
  bool interrupted = false;   // `handle` is in Connections::interrupted
  bool needs_dial = false;    // no kept connection was found
  bool stale = false;         // the kept connection was unusable, or ended without an answer
  bool kept = false;          // a kept connection was chosen for the request
  bool connected = false;     // a connection is ready for the request
  bool in_head = false;       // within the head of an answer, interim or final
  bool has_status = false;    // the head began with a status line
  bool answered = false;      // the final head (status 200 or more) is complete
  bool refused = false;       // we refused an address (address policy), or a lookup by libcurl
  bool port_refused = false;  // the port belongs to another protocol
  bool headers_too_long = false;
  bool certificate_wanted = false;  // the receiver asked for a client certificate
};

/// Sets the callbacks of `progress.handle`. `progress` and `progress.connections` outlive the handle;
/// `progress.connections` also outlives every connection. Throws std::runtime_error.
void set_callbacks(Progress& progress);

/// As curl_easy_setopt(), but throws std::runtime_error.
template <class T>
void set_option(CURL* handle, CURLoption option, T value) {
  if (const auto code = curl_easy_setopt(handle, option, value); code != CURLE_OK)
    throw std::runtime_error(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
}

}  // namespace dispatcher
