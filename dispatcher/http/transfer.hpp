// One POST on one libcurl easy handle, reused from attempt to attempt.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "http/attempt.hpp"
#include "http/route.hpp"
#include "platform/config.hpp"

namespace dispatcher {

/// A request whose attempt has begun: its clock runs, also while its host is being looked up.
struct Job {
  Request request;
  platform::UtcTime started{};
  platform::MonotonicTime since{};
  std::optional<platform::MonotonicTime> name_answered{};
};

/// What the callbacks learn; they are given a pointer to it.
struct Progress {
  const platform::DeliverySettings* settings = nullptr;
  unsigned* sockets = nullptr;
  std::string host;  // of the request, without its port
  std::string retry_after;
  std::optional<platform::IpAddress> address;  // the last one dialled
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  platform::MonotonicTime last_byte{};  // of either
  int status = 0;                       // of the header block being read
  bool literal = false;                 // the URL names an address: there is nothing to look up
  bool connected = false;               // a connection is ready for the request
  bool answered = false;                // the final header block (status 200 or more) is complete
  bool refused = false;                 // an address was not allowed
  bool local_failure = false;           // this host has no socket, or no memory, left
  bool headers_too_long = false;
};

class Transfer {
 public:
  /// `settings` and `sockets`, the count of open ones, outlive it and every connection. Throws
  /// std::runtime_error.
  Transfer(const platform::DeliverySettings& settings, unsigned& sockets);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Configures the handle for a request to those addresses (none: the URL's own); add it to the multi handle
  /// then. Throws std::exception; end() takes the job back all the same.
  void begin(Job job, const Route& route, const Addresses& addresses);
  /// After the handle was removed from the multi handle: what became of it.
  Attempt end(CURLcode code);

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

  void set_protocol_options();
  void set_tls_options();
  void set_callbacks();
  void set_addresses(const Route& route, const Addresses& addresses);
  void set_request();
  void set_time_outs();
  TransportResult transport_result_of(CURLcode code) const;
  void note_signs_of_life(CURLcode code, Attempt& attempt) const;
  static void append(List& list, const std::string& line);

  const platform::DeliverySettings& settings_;
  unsigned& sockets_;
  // A DNS cache of its own, with the one host of the request: nothing that others do changes where it goes,
  // and nothing is left behind.
  std::unique_ptr<CURLSH, ShareDeleter> names_;
  std::unique_ptr<CURL, HandleDeleter> handle_;
  List headers_;
  List resolve_;
  std::string forget_;  // takes away the last request's host
  Job job_;
  Progress progress_;
};

/// The attempt of a job that this host could not make.
Attempt not_made(Job job);

/// The attempt of a job that got no further than its host's name. `unanswered`: no name server said anything.
Attempt unresolved(Job job, bool unanswered);

}  // namespace dispatcher
