// Looks up names with c-ares, without a thread: a Poller watches its sockets, and the thread that waits on it
// does the work.
//
// It promises: a lookup ends within its patience, whatever the servers do, so lookups never outnumber the
// waiting callers; a slow one delays no other; with none in progress there is nothing to poll. It returns
// every address found; may_connect judges them when they are dialled.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/http/poller.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

using Addresses = std::vector<platform::IpAddress>;  // in the order of RFC 6724 and RFC 8305, the best first

/// A lookup that ended. No addresses: the name has none, or none was found in time.
struct Resolution {
  std::string name;
  Addresses addresses;
  enum class Servers {
    nothing,    // not known: /etc/hosts has the name, or the question or the answer is malformed
    silent,     // none answered, or those that did failed or refused
    answered,   // also if the answer is that the name does not exist
    not_asked,  // this host could not (descriptors, memory)
  };
  Servers servers = Servers::nothing;
};

/// Asks /etc/hosts first, then the servers of /etc/resolv.conf; both are read for each lookup. Names are
/// absolute: no search list. Not thread-safe.
class Resolver {
 public:
  /// Limits, so that an answer cannot cost too much.
  static constexpr std::size_t max_addresses = 16;  // taken of one answer
  static constexpr std::size_t max_cached = 8192;   // names
  static constexpr platform::Milliseconds shortest_life{1000};
  static constexpr platform::Milliseconds longest_life{60000};

  /// `patience`: how long a lookup may take, with all its tries (lookup_patience() in sender.cpp sets it).
  /// `poller` watches its sockets and outlives it. Throws std::runtime_error.
  Resolver(platform::Milliseconds patience, Poller& poller);
  /// Abandons lookups in progress.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The addresses of an answer within its time to live (within the limits above; failures are not kept);
  /// nullptr: none. Valid until the next call that is not const.
  const Addresses* cached(const std::string& name, platform::MonotonicTime now) const;

  /// Puts this address of a cached name first, while the answer is kept.
  void prefer(const std::string& name, const platform::IpAddress& address);

  /// Begins a lookup, unless one of that name is in progress. It ends in take_finished(), perhaps at once.
  void look_up(const std::string& name);

  /// Handles an event of one of its sockets; false for another descriptor.
  bool process(const Poller::Event& event);
  /// Repeats questions, and ends lookups that are out of time.
  void process_overdue();
  /// The time until process_overdue() or take_finished() has something to do; nullopt: no lookup is in
  /// progress.
  std::optional<platform::Milliseconds> next_timeout() const;

  std::vector<Resolution> take_finished();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dispatcher
