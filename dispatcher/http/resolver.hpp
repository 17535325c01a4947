// Looks up names with c-ares, without a thread: a Poller watches the sockets, and the thread that waits on
// the Poller does the work.
//
// Each lookup ends within `patience`, whatever the servers do. A slow lookup delays no other. While no lookup
// is in progress there is no socket to poll. Each lookup in progress has a caller that waits for it, because
// a lookup ends before its callers give up: so there are never more lookups than waiting callers. Addresses
// are not judged here, but by may_connect when they are dialled.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/http/poller.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

using Addresses = std::vector<platform::IpAddress>;  // in the order of RFC 6724 and RFC 8305, the best first

/// A lookup that ended. Without addresses: the name has none, or no usable answer came in time.
struct Resolution {
  std::string name;
  Addresses addresses;
  enum class Servers {
    nothing,    // says nothing about the servers: /etc/hosts has the name, or the question or the answer is
                // malformed
    silent,     // no server gave an address: each was silent, failed, refused, or said that there is none
    answered,   // with an address
    not_asked,  // because of `fault`
  };
  Servers servers = Servers::nothing;
  delivery::LocalFault fault{};
};

/// Asks /etc/hosts first, then the servers of /etc/resolv.conf; a change of either file counts from the next
/// lookup on. Names are absolute: no search list. Not thread-safe.
class Resolver {
 public:
  /// Limits, so that answers cannot take too much time or memory.
  static constexpr std::size_t max_addresses = 16;  // taken from one answer
  static constexpr std::size_t max_cached = 8192;   // names
  static constexpr platform::Milliseconds shortest_life{1000};
  static constexpr platform::Milliseconds longest_life{60000};

  /// `patience`: how long a lookup may take, all tries included.
  /// `poller` outlives this object. Throws std::runtime_error.
  Resolver(platform::Milliseconds patience, Poller& poller);
  /// Abandons lookups in progress.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The addresses kept from an answer, until its time to live (clamped to shortest_life … longest_life) has
  /// passed; nullptr: none. Failures are not kept. Valid until the next call that is not const.
  const Addresses* cached(const std::string& name, platform::MonotonicTime now) const;

  /// Begins a lookup, unless that name is being looked up; take_ended() returns the result.
  void look_up(const std::string& name);

  /// Handles the event if the socket belongs to a lookup; otherwise returns false.
  bool process(const Poller::Event& event);
  /// Repeats questions, ends lookups that are out of time, and returns what has ended.
  std::vector<Resolution> take_ended();
  /// When to call take_ended() next; a time in the past: at once; nullopt: no lookup is in progress.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dispatcher
