// Names to addresses with c-ares: no threads, on its sockets in a Poller and in the time of the thread that
// waits there.
//
// It promises: a lookup ends within its patience, whatever the servers do or do not answer, so that there are
// never more of them than callers who wait; a stalled one holds up no other; with nothing under way there is
// nothing to poll. Every address found is given, whatever it is: may_connect judges it when it is dialled.
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
    nothing,    // to be told: /etc/hosts knew the name, or it cannot be asked for
    silent,     // none answered, or all that did had failed or refused
    answered,   // also: that there is no such name
    not_asked,  // this host could not (descriptors, memory)
  };
  Servers servers = Servers::nothing;
};

/// /etc/hosts first, then the servers of /etc/resolv.conf, both read for each lookup. Names are absolute: no
/// search list. Not thread-safe.
class Resolver {
 public:
  /// The system's limits of what an answer may ask of us.
  static constexpr std::size_t max_addresses = 16;  // taken of one answer
  static constexpr std::size_t max_cached = 8192;   // names
  static constexpr platform::Milliseconds shortest_life{1000};
  static constexpr platform::Milliseconds longest_life{60000};

  /// `patience`: how long a lookup may take, all its tries together. `poller` watches its sockets and
  /// outlives it. Throws std::runtime_error.
  Resolver(platform::Milliseconds patience, Poller& poller);
  /// Abandons what is under way.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// What an answer said less than its time to live ago (kept within the limits above; failures are not
  /// kept); nullptr when there is none. Valid until the next call that is not const.
  const Addresses* cached(const std::string& name, platform::MonotonicTime now) const;

  /// From now on this address of a cached name is the first, for as long as the answer may be believed.
  void prefer(const std::string& name, const platform::IpAddress& address);

  /// Begins a lookup, unless that name's is under way. It ends in take_finished(), perhaps at once.
  void look_up(const std::string& name);

  /// Reads an answer, if it is one: false for a descriptor that is not of the resolver's.
  bool process(const Poller::Event& event);
  /// What is overdue: repeats questions, gives up.
  void process_overdue();
  /// How long may be waited before process_overdue() and take_finished() have something to do; nullopt when
  /// nothing is under way.
  std::optional<platform::Milliseconds> next_timeout() const;

  std::vector<Resolution> take_finished();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dispatcher
