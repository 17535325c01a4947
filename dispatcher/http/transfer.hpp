// One POST by libcurl's easy interface.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/http/callbacks.hpp"
#include "dispatcher/http/dialler.hpp"
#include "dispatcher/http/route.hpp"
#include "dispatcher/http/socket.hpp"
#include "lib/platform/config.hpp"

namespace dispatcher {

/// A request whose attempt has begun: its clock runs, also while its host is being looked up.
struct Job {
  Request request;
  platform::UtcTime started{};
  platform::MonotonicTime since{};
  std::optional<platform::MonotonicTime> name_answered{};
};

class Transfer {
 public:
  /// After a kept connection that ended, and after a reset that met the body.
  static constexpr unsigned most_repeats = 2;

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

  /// It is among Connections::interrupted: libcurl must not go on with it.
  bool interrupted() const { return progress_.interrupted; }
  /// A new connection is wanted to one of several addresses; otherwise what follows is begin_again().
  bool needs_dial() const { return progress_.needs_dial; }
  /// A kept connection ended without an answer, which says nothing of the receiver; or the receiver reset a
  /// fresh one before it had read the request, perhaps after an answer (docs/receivers.md).
  bool needs_fresh_connection(CURLcode code) const;
  /// What became of it.
  Attempt end(CURLcode code);
  /// None of the addresses was connected.
  Attempt end_undialled(const Dialled& dialled);

  const std::string& url() const { return job_.request.url; }
  const std::string& host_name() const { return host_name_; }
  const Addresses& addresses() const { return addresses_; }
  std::uint16_t port() const { return progress_.port; }
  /// When it has to be connected.
  platform::MonotonicTime connect_deadline() const;

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
  void set_addresses(std::string key, const Addresses& addresses);
  void set_request(bool fresh_connection);
  void set_time_outs();
  void begin_try();
  bool is_refused_certificate() const;
  void note_probe(CURLcode code, delivery::Probe& probe) const;
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
  std::string host_name_;  // of the request, without its port
  Addresses addresses_;    // for the dialler, where there are several
  unsigned repeats_ = 0;   // of the request, within the attempt
  /// The body is not sent before the receiver asks for it, or a second is over.
  bool expects_continue_ = false;
  platform::MonotonicTime connecting_since_{};
  platform::MonotonicTime began_{};  // the try under way
  Progress progress_;
};

/// The attempt of a job that this host could not make.
Attempt not_made(Job job);

/// The attempt of a job that got no further than its host's name. `unanswered`: no name server said anything.
Attempt unresolved(Job job, bool unanswered);

/// The attempt of a job that asked for no more than addresses, which its probe has.
Attempt looked_up(Job job);

}  // namespace dispatcher
