// Makes all TCP connections of transfers (RFC 8305). A dial tries the addresses of one name.
// While an address is silent (has neither accepted nor refused), the dial tries the next address too; the
// first connection wins. libcurl itself tries a second address of the same family only when half of the
// connect time-out has passed. When events drive libcurl 7.88, it never tries that address.
//
// A dial skips the addresses that may_connect refuses, and all addresses if is_refused_port refuses the port.
// A dial ends by its deadline. A slow dial delays no other dial.
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
#include "lib/config/config.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

/// The most sockets that a dial has open. A dial with so many closes its oldest one to try a further address.
inline constexpr std::size_t sockets_per_dial = 4;

/// How a dial ended.
struct Dialled {
  void* caller = nullptr;
  Socket socket;                               // connected to `address`; no descriptor if the dial failed
  std::optional<platform::IpAddress> address;  // connected, or tried last; unset if none may be dialled
  /// Of this host, met with any address.
  delivery::LocalFault fault{};
  bool timed_out = false;  // the dial ended at its deadline
  /// The errno of the last address that failed. A missing route is reported only if no address failed for
  /// another reason. EAFNOSUPPORT is never reported.
  int error = 0;
  std::optional<platform::MonotonicTime> heard;  // when an address last refused or reset a connection
};

/// Not thread-safe.
class Dialler {
 public:
  /// How long a dial waits before it tries the next address. The wait is shorter with many addresses or
  /// little time left.
  static constexpr platform::Milliseconds attempt_delay{250};

  /// `settings` and `poller` outlive this object.
  Dialler(const config::DeliverySettings& settings, Poller& poller) : settings_(settings), poller_(poller) {}
  ~Dialler();
  Dialler(const Dialler&) = delete;
  Dialler& operator=(const Dialler&) = delete;

  /// Begins a dial. `host`, without a port, is for may_connect; `caller` identifies the dial in take_ended().
  void dial(void* caller, const std::string& host, std::uint16_t port, Addresses addresses,
            platform::MonotonicTime deadline);

  /// Handles the event if the socket belongs to a dial; otherwise returns false.
  bool process(const Poller::Event& event);
  /// Tries the further addresses that are due, ends dials at their deadline, and returns what has ended.
  std::vector<Dialled> take_ended();
  /// When to call take_ended() next; a time in the past: at once; nullopt: there is no dial.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  struct Connecting {
    Socket socket;
    platform::IpAddress address;
  };
  struct Dial {
    std::uint16_t port = 0;
    std::deque<platform::IpAddress> left;  // addresses not yet tried
    std::deque<Connecting> silent;         // connecting, the oldest first
    platform::MonotonicTime next;          // when to try the next address
    platform::MonotonicTime deadline;
    Dialled result;
  };
  using Dials = std::list<Dial>;

  void process_overdue();
  void begin_next(Dials::iterator dial, platform::MonotonicTime now);
  bool begin(Dials::iterator dial, const platform::IpAddress& address);
  void watch(Dials::iterator dial, Connecting candidate);
  Connecting take(Dial& dial, int fd);
  void end_if_done(Dials::iterator dial);
  void end(Dials::iterator dial);

  const config::DeliverySettings& settings_;
  Poller& poller_;
  Dials dials_;
  std::unordered_map<int, Dials::iterator> by_socket_;
  std::vector<Dialled> ended_;
};

}  // namespace dispatcher
