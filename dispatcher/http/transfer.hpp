// One POST, or one handshake without a request, with libcurl's easy interface. A transfer makes one try, or
// several on different connections; together they are one attempt.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/http/callbacks.hpp"
#include "dispatcher/http/dialler.hpp"
#include "dispatcher/http/job.hpp"
#include "dispatcher/http/socket.hpp"
#include "lib/config/config.hpp"

namespace dispatcher {

class Transfer {
 public:
  /// One repeat after a kept connection that ended, one after a reset while the body was written.
  static constexpr unsigned most_repeats = 2;

  /// `settings` and `connections` outlive this object and every connection. Throws std::runtime_error.
  Transfer(const config::DeliverySettings& settings, Connections& connections);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Each of the next three functions begins a try: it configures the handle, which the caller then adds to a
  // multi handle. If the function throws std::exception, the caller must still end the attempt with end().

  /// Begins the transfer of a job.
  void begin(Job job);
  /// After needs_dial(): goes on with a connection that the dialler has made.
  void begin_on(Socket socket, const platform::IpAddress& address);
  /// After needs_fresh_connection(): repeats the request.
  void begin_again();

  // The next six functions are for a handle that has been removed from the multi handle.

  /// True: a callback has stopped the transfer and added its handle to Connections::interrupted. libcurl must
  /// not continue it: the caller dials for it, repeats it or ends it.
  bool interrupted() const { return progress_.interrupted; }
  /// True: the request needs a new connection.
  bool needs_dial() const { return progress_.needs_dial; }
  struct Dial {
    std::string host;  // without its port
    std::uint16_t port;
    Addresses addresses;
    platform::MonotonicTime deadline;
  };
  /// Returns what the dialler must do for this transfer. `waited`: for a turn to be dialled, which is no time
  /// of the receiver's.
  Dial begin_dial(platform::MonotonicTime::duration waited);
  /// While repeats are left, true in two cases (docs/receivers.md#what-counts-as-an-answer). First: a kept
  /// connection was unusable, or ended without an answer or with a 408, which is no failure of the receiver.
  /// Second: the receiver reset a new connection before it had read the whole request. The reset may have
  /// destroyed an answer that the receiver had sent.
  bool needs_fresh_connection(CURLcode code) const;
  /// Ends the attempt. `stopped`: this process did not run for a time since the attempt began, so a failure
  /// may be ours.
  Attempt end(CURLcode code, bool stopped);
  /// As end(), when the dialler has made no connection.
  Attempt end_undialled(const Dialled& dialled, bool stopped);

  /// The present job; an empty job before begin() and after the end of the attempt.
  const Job& job() const { return job_; }
  /// When the caller must end the transfer, unless it makes progress; nullopt: libcurl does not have it.
  std::optional<platform::MonotonicTime> deadline() const;

  CURL* handle() const { return handle_.get(); }
  bool connected() const { return progress_.connected; }
  static Transfer& of(CURL* handle);
  /// As of(), but returns nullptr for a handle that libcurl has made for itself.
  static Transfer* find(CURL* handle);
  void fail_locally(delivery::LocalFault fault) { progress_.fault = fault; }

 private:
  platform::MonotonicTime connect_deadline() const;

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
  void set_addresses(const Addresses& addresses);
  void set_request(bool fresh_connection);
  void begin_try();
  bool is_refused_certificate() const;
  void observe(CURLcode code, delivery::Observation& observed) const;
  delivery::LocalFault local_fault(CURLcode code, bool stopped) const;
  TransportResult transport_result_of(CURLcode code, delivery::LocalFault fault) const;
  void note_signs_of_life(CURLcode code, Attempt& attempt) const;
  static void append(List& list, const std::string& line);

  const config::DeliverySettings& settings_;
  Connections& connections_;
  // A DNS cache for this transfer alone, with only the host of the present request: no other request decides
  // where this one goes.
  std::unique_ptr<CURLSH, ShareDeleter> names_;
  std::unique_ptr<CURL, HandleDeleter> handle_;
  List headers_;
  List resolve_;
  std::string cached_;  // key of the host in the DNS cache; empty: none
  Job job_;
  std::string host_name_;  // of the request, without its port
  unsigned repeats_ = 0;   // of the request, within the attempt
  /// True: the body is sent when the receiver asks for it, or after a second.
  bool expects_continue_ = false;
  platform::MonotonicTime connecting_since_{};
  platform::MonotonicTime began_{};  // when the present try began
  Progress progress_;
};

}  // namespace dispatcher
