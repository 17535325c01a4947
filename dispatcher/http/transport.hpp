// Drives the transfers in progress and their sockets, over several of libcurl's multi handles.
//
// There are several multi handles, because libcurl 7.88 searches all kept connections of a multi handle
// whenever a transfer leaves the handle: with the 1,900 connections of a thousand receivers, the search took
// a twelfth of the dispatcher's processor time. With 8.14 one multi handle would do
// (docs/decisions.md#debian-12-and-13). Each multi handle reads delivery.ca_file itself, once a day.
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
  /// `poller` outlives this object. Throws std::runtime_error if libcurl fails.
  Transport(unsigned max_in_flight, Poller& poller);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Starts a transfer; transfers with the same key share connections. False: libcurl refuses it.
  bool add(CURL* handle, std::uint64_t key);
  /// Removes a transfer, added with this key, before its end; does nothing after its end.
  void remove(CURL* handle, std::uint64_t key);

  struct Ended {
    CURL* handle;  // may be added again
    CURLcode code;
  };
  /// Lets libcurl do what is due, and returns the transfers that have ended.
  std::vector<Ended> take_ended();

  void process(const Poller::Event& event);
  /// When to call take_ended() next, besides after an event; nullopt: nothing waits for a time.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  class Multi;

  Multi& of(std::uint64_t key);

  std::vector<Multi*> owners_;  // by socket; declared first, because the destructor of multis_ uses it
  std::vector<std::unique_ptr<Multi>> multis_;
};

}  // namespace dispatcher
