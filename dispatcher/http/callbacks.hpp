// What libcurl tells of a transfer as it goes on: connections, the answer's head and body.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/http/socket.hpp"
#include "lib/delivery/diagnosis.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

/// What all transfers share.
struct Connections {
  unsigned sockets = 0;            // open, in use or kept
  std::vector<CURL*> interrupted;  // transfers that libcurl would go on with otherwise than is wanted
};

/// What the callbacks learn; they are given a pointer to it.
struct Progress {
  CURL* handle = nullptr;
  const platform::DeliverySettings* settings = nullptr;
  Connections* connections = nullptr;
  delivery::Probe* probe = nullptr;            // of the request; nullptr: it is of a delivery
  std::string host;                            // of the request, without its port
  std::optional<platform::IpAddress> address;  // the last one dialled
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  platform::MonotonicTime last_byte{};  // of either
  int status = 0;                       // of the answer
  Socket dialled;                       // to be used for the new connection
  int opened = -1;                      // the socket of a new connection that has no request yet
  std::uint16_t port = 0;               // of the addresses
  bool several = false;                 // addresses, of which the dialler chooses one
  bool literal = false;                 // the URL names an address: there is nothing to look up
  bool interrupted = false;             // it is among Connections::interrupted
  bool needs_dial = false;              // no kept connection was found, and there are several addresses
  bool stale = false;                   // the kept connection could not be used, or ended without an answer
  bool kept = false;                    // the request went on a connection that had served another one
  bool connected = false;               // a connection is ready for the request
  bool in_head = false;                 // within the head of an answer, interim or final
  bool has_status = false;              // that head began with a status line
  bool answered = false;                // the final header block (status 200 or more) is complete
  bool refused = false;                 // an address was not allowed
  bool port_refused = false;            // it is another protocol's
  bool local_failure = false;           // this host has no socket, or no memory, left
  bool headers_too_long = false;
  bool certificate_wanted = false;  // by the receiver, of us
};

/// Has the handle of `progress` call back; `progress` and its connections outlive it, and the latter every
/// connection. Throws std::runtime_error.
void set_callbacks(Progress& progress);

/// The same as curl_easy_setopt(). Throws std::runtime_error.
template <class T>
void set_option(CURL* handle, CURLoption option, T value) {
  if (const auto code = curl_easy_setopt(handle, option, value); code != CURLE_OK)
    throw std::runtime_error(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
}

}  // namespace dispatcher
