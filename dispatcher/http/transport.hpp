// The transfers under way and their sockets, over several of libcurl's multi handles.
//
// Several, because libcurl 7.88 looks through the connections that a multi handle keeps whenever a transfer
// leaves it: with the 1,900 of a thousand receivers, a twelfth of the dispatcher's processor time. With 8.14
// one multi handle would do (docs/decisions.md, Debian 12 and 13). Transfers of one key share connections.
// Each multi handle reads delivery.ca_file for itself, once a day.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dispatcher/http/poller.hpp"

namespace dispatcher {

class Transport {
 public:
  /// `poller` outlives it. Throws std::runtime_error when libcurl fails.
  Transport(unsigned max_in_flight, Poller& poller);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// False: libcurl refuses it.
  bool add(CURL* handle, std::uint64_t key);
  /// Abandons what was added with that key; nothing happens if it has ended.
  void remove(CURL* handle, std::uint64_t key);

  struct Ended {
    CURL* handle;  // free to be added again
    CURLcode code;
  };
  std::vector<Ended> take_ended();

  /// Goes on with a socket that is ready.
  void process(const Poller::Event& event);
  /// Goes on with what is due by now.
  void process_overdue();
  /// When process_overdue() has something to do; none: nothing waits for a time.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  class Multi;

  Multi& of(std::uint64_t key);

  std::vector<Multi*> owners_;  // of multis_, by socket; calls of their destructors come by here
  std::vector<std::unique_ptr<Multi>> multis_;
};

}  // namespace dispatcher
