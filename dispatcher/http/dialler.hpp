// TCP connections to names of several addresses (RFC 8305): the next address begins while the one before is
// silent, and the first that is connected wins. libcurl leaves a silent address for another one of its family
// only after half of the time, and 7.88, driven by events, never does.
//
// It promises: no address is dialled that may_connect refuses, and no port that is_refused_port names; a dial
// ends by its deadline; one that stalls holds up no other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatcher/http/poller.hpp"
#include "dispatcher/http/resolver.hpp"
#include "dispatcher/http/socket.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

/// Sockets of one dial at a time: for a further address the oldest silent one is closed.
inline constexpr std::size_t sockets_per_dial = 4;

/// How a dial ended.
struct Dialled {
  void* caller = nullptr;
  Socket socket;                                 // connected; none: `address` is the last one tried
  std::optional<platform::IpAddress> address;    // none: all are refused
  bool local_failure = false;                    // this host has no socket, or no memory, left
  bool timed_out = false;                        // the last addresses were silent until the deadline
  int error = 0;                                 // errno of the last one that failed
  std::optional<platform::MonotonicTime> heard;  // when a host last refused a connection
};

/// Not thread-safe.
class Dialler {
 public:
  /// Until the next address begins; less where the addresses would not all have their turn by the deadline.
  static constexpr platform::Milliseconds attempt_delay{250};

  /// `settings` and `poller`, which watches its sockets, outlive it.
  Dialler(const platform::DeliverySettings& settings, Poller& poller)
      : settings_(settings), poller_(poller) {}
  ~Dialler();
  Dialler(const Dialler&) = delete;
  Dialler& operator=(const Dialler&) = delete;

  /// `host` without its port, for may_connect; `caller` names the dial in take_ended().
  void dial(void* caller, const std::string& host, std::uint16_t port, Addresses addresses,
            platform::MonotonicTime deadline);

  /// False for a descriptor that is not the dialler's.
  bool process(const Poller::Event& event);
  /// Goes on with what is due by now.
  void process_overdue(platform::MonotonicTime now);
  /// When process_overdue() or take_ended() has something to do; a time in the past: at once.
  std::optional<platform::MonotonicTime> next_timeout() const;

  std::vector<Dialled> take_ended();

 private:
  struct Connecting {
    Socket socket;
    platform::IpAddress address;
  };
  struct Dial {
    std::uint16_t port = 0;
    std::deque<platform::IpAddress> left;  // not yet tried
    std::deque<Connecting> silent;         // connecting, the oldest first
    platform::MonotonicTime next;          // when the next address begins
    platform::MonotonicTime deadline;
    Dialled result;
  };
  using Dials = std::list<Dial>;

  void begin_next(Dials::iterator dial, platform::MonotonicTime now);
  bool begin(Dials::iterator dial, const platform::IpAddress& address);
  void watch(Dials::iterator dial, Connecting candidate);
  Connecting take(Dial& dial, int fd);
  void end_if_done(Dials::iterator dial);
  void end(Dials::iterator dial);

  const platform::DeliverySettings& settings_;
  Poller& poller_;
  Dials dials_;
  std::unordered_map<int, Dials::iterator> by_socket_;
  std::vector<Dialled> ended_;
};

}  // namespace dispatcher
