// One POST by libcurl's easy interface.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <vector>

#include "http/attempt.hpp"
#include "http/dialler.hpp"
#include "http/route.hpp"
#include "http/socket.hpp"
#include "platform/config.hpp"

namespace dispatcher {

/// A request whose attempt has begun: its clock runs, also while its host is being looked up.
struct Job {
  Request request;
  platform::UtcTime started{};
  platform::MonotonicTime since{};
  std::optional<platform::MonotonicTime> name_answered{};
};

/// What all transfers share.
struct Connections {
  unsigned sockets = 0;        // open, in use or kept
  std::vector<CURL*> to_dial;  // transfers that want a new connection to one of several addresses
};

/// What the callbacks learn; they are given a pointer to it.
struct Progress {
  CURL* handle = nullptr;
  const platform::DeliverySettings* settings = nullptr;
  Connections* connections = nullptr;
  std::string host;                            // of the request, without its port
  std::optional<platform::IpAddress> address;  // the last one dialled
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  platform::MonotonicTime last_byte{};  // of either
  Socket dialled;                       // to be used for the new connection
  int opened = -1;                      // the socket of a new connection that has no request yet
  std::uint16_t port = 0;               // of the addresses
  bool several = false;                 // addresses, of which the dialler chooses one
  bool literal = false;                 // the URL names an address: there is nothing to look up
  bool needs_dial = false;              // no kept connection was found
  bool stale = false;                   // the kept connection could not be used
  bool kept = false;                    // the request went on a connection that had served another one
  bool connected = false;               // a connection is ready for the request
  bool in_head = false;                 // within the head of an answer, interim or final
  bool has_status = false;              // that head began with a status line
  bool answered = false;                // the final header block (status 200 or more) is complete
  bool refused = false;                 // an address was not allowed
  bool local_failure = false;           // this host has no socket, or no memory, left
  bool headers_too_long = false;
  bool certificate_wanted = false;  // by the receiver, of us
};

class Transfer {
 public:
  /// `settings` and `connections` outlive it and every connection. Throws std::runtime_error.
  Transfer(const platform::DeliverySettings& settings, Connections& connections);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Each of the following configures the handle; add it to the multi handle then. They throw std::exception;
  // end() takes the job back all the same.

  /// For a request to those addresses (none: the URL's own).
  void begin(Job job, const Route& route, const Addresses& addresses);
  /// After needs_dial().
  void begin_on(Socket socket, const platform::IpAddress& address);
  /// After needs_fresh_connection().
  void begin_again();

  // After the handle was removed from the multi handle.

  /// It is among Connections::to_dial.
  bool needs_dial() const { return progress_.needs_dial; }
  /// A kept connection ended without an answer, which says nothing of the receiver; or the receiver reset a
  /// fresh one before it had read the request, perhaps after an answer (docs/receivers.md).
  bool needs_fresh_connection(CURLcode code) const;
  /// What became of it.
  Attempt end(CURLcode code);
  /// None of the addresses was connected.
  Attempt end_undialled(const Dialled& dialled);

  const std::string& url() const { return job_.request.url; }
  const std::string& host_name() const { return progress_.host; }
  const Addresses& addresses() const { return addresses_; }
  std::uint16_t port() const { return progress_.port; }
  /// When it has to be connected.
  platform::MonotonicTime connect_deadline() const { return connecting_since_ + settings_.connect_timeout; }

  CURL* handle() const { return handle_.get(); }
  /// Of the request that is under way.
  const std::string& host() const { return job_.request.host; }
  Request::Purpose purpose() const { return job_.request.purpose; }
  bool connected() const { return progress_.connected; }
  /// The transfer that a handle belongs to.
  static Transfer& of(CURL* handle);
  /// The same; nullptr for a handle of libcurl's own.
  static Transfer* find(CURL* handle);
  /// Whatever becomes of it, this host could not do it.
  void fail_locally() { progress_.local_failure = true; }

 private:
  struct HandleDeleter {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct ShareDeleter {
    void operator()(CURLSH* share) const { curl_share_cleanup(share); }
  };
  struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, ListDeleter>;

  void renew_handle();
  void set_protocol_options();
  void set_tls_options();
  void set_callbacks();
  void set_addresses(std::string key, const Addresses& addresses);
  void set_request(bool fresh_connection);
  void set_time_outs();
  void begin_afresh();
  bool is_refused_certificate() const;
  TransportResult transport_result_of(CURLcode code) const;
  void note_signs_of_life(CURLcode code, Attempt& attempt) const;
  static void append(List& list, const std::string& line);

  const platform::DeliverySettings& settings_;
  Connections& connections_;
  // A DNS cache of its own, with the one host of the request: nothing that others do changes where it goes,
  // and nothing is left behind.
  std::unique_ptr<CURLSH, ShareDeleter> names_;
  std::unique_ptr<CURL, HandleDeleter> handle_;
  List headers_;
  List resolve_;
  std::string cached_;  // the key of the host that the DNS cache has; empty: none
  Job job_;
  Addresses addresses_;  // for the dialler, where there are several
  platform::MonotonicTime connecting_since_{};
  bool expects_continue_ =
      false;  // the body is not sent before the receiver asks for it, or a second is over
  Progress progress_;
};

/// The attempt of a job that this host could not make.
Attempt not_made(Job job);

/// The attempt of a job that got no further than its host's name. `unanswered`: no name server said anything.
Attempt unresolved(Job job, bool unanswered);

}  // namespace dispatcher
