// One POST on one libcurl easy handle, reused from attempt to attempt.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "attempt.hpp"
#include "platform/config.hpp"

namespace dispatcher {

/// What the callbacks learn; they are given a pointer to it.
struct Progress {
  const platform::DeliverySettings* settings = nullptr;
  std::string retry_after;
  std::optional<platform::IpAddress> address;  // the last one dialled
  std::size_t header_bytes = 0;
  std::size_t body_bytes = 0;
  int status = 0;              // of the header block being read
  bool connected = false;      // a connection is ready for the request
  bool answered = false;       // the final header block (status 200 or more) is complete
  bool refused = false;        // an address was not allowed
  bool local_failure = false;  // this host has no socket left
  bool headers_too_long = false;
};

class Transfer {
 public:
  /// `settings` outlives it. Throws std::runtime_error.
  explicit Transfer(const platform::DeliverySettings& settings);

  /// Configures the handle for a request; add it to the multi handle then. `this` does not move until it
  /// ends.
  void begin(Request request);
  /// After the handle was removed from the multi handle: what became of it.
  Attempt end(CURLcode code);

  CURL* handle() const { return handle_.get(); }
  store::WebhookId webhook() const { return request_.delivery.webhook; }
  bool connected() const { return progress_.connected; }
  /// How long its connection took to be made, TLS included; none if it was a kept one, or came to nothing.
  std::optional<platform::Milliseconds> connecting_time() const;

 private:
  struct HandleDeleter {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, ListDeleter>;

  void set_protocol_options();
  void set_tls_options();
  void set_callbacks();
  void set_request();
  Ending ending_of(CURLcode code) const;
  static void append(List& list, const std::string& line);

  const platform::DeliverySettings& settings_;
  std::unique_ptr<CURL, HandleDeleter> handle_;
  List headers_;
  List resolve_;
  Request request_;
  Progress progress_;
  platform::UtcTime started_{};
  platform::MonotonicTime started_monotonic_{};
};

}  // namespace dispatcher
