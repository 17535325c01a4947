// Drives the transfers in progress and their sockets, over several of libcurl's multi handles.
//
// There are several, because libcurl 7.88 searches all kept connections of a multi handle whenever a transfer
// leaves it: with the 1,900 connections of a thousand receivers, that is a twelfth of the dispatcher's
// processor time. With 8.14 one would do (docs/decisions.md#debian-12-and-13). Transfers of one key share
// connections. Each multi handle reads delivery.ca_file itself, once a day.
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
  /// `poller` outlives it. Throws std::runtime_error if libcurl fails.
  Transport(unsigned max_in_flight, Poller& poller);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// False: libcurl refuses it.
  bool add(CURL* handle, std::uint64_t key);
  /// Abandons a transfer added with that key; does nothing if it has ended.
  void remove(CURL* handle, std::uint64_t key);

  struct Ended {
    CURL* handle;  // may be added again
    CURLcode code;
  };
  std::vector<Ended> take_ended();

  /// Handles a socket that is ready.
  void process(const Poller::Event& event);
  /// Handles what is due by now.
  void process_overdue();
  /// When process_overdue() has something to do; none: nothing waits for a time.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  class Multi;

  Multi& of(std::uint64_t key);

  std::vector<Multi*> owners_;  // of multis_, by socket; their destructors still use it
  std::vector<std::unique_ptr<Multi>> multis_;
};

}  // namespace dispatcher
