#include "dispatcher/http/dialler.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dispatcher/http/local_fault.hpp"
#include "dispatcher/http/source.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/refused_ports.hpp"

namespace dispatcher {

namespace {

using platform::IpAddress;
using platform::MonotonicTime;

/// RFC 8305 section 5.
constexpr std::chrono::milliseconds shortest_delay{10};

void note_failure(Dialled& result, int error, LocalFault fault) {
  if (fault != LocalFault::none) result.fault = fault;
  // A missing route is reported only if no address failed for another reason.
  if (error != EAFNOSUPPORT && (result.error == 0 || !is_no_route(error))) result.error = error;
  // Only the host itself refuses or resets a connection: it can be reached.
  if (error == ECONNREFUSED || error == ECONNRESET) result.heard = platform::monotonic_now();
}

/// Returns 0 if connected, EINPROGRESS if silent, otherwise an errno. Must not call connect() again: Linux
/// lets only one more call succeed, and libcurl makes it.
int progress_of(int fd) {
  pollfd ready{fd, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  return (ready.revents & (POLLERR | POLLHUP)) != 0 ? ECONNRESET : 0;
}

}  // namespace

Dialler::~Dialler() {
  for (const auto& [fd, dial] : by_socket_) poller_.forget(fd);
}

void Dialler::dial(void* caller, const std::string& host, std::uint16_t port, Addresses addresses,
                   MonotonicTime deadline) {
  std::erase_if(addresses, [&](const IpAddress& address) {
    return webhook::is_refused_port(port) || !webhook::may_connect(address, host, settings_);
  });
  Dial dial;
  dial.port = port;
  dial.left.assign(addresses.begin(), addresses.end());
  dial.deadline = deadline;
  dial.result.caller = caller;
  const auto added = dials_.insert(dials_.end(), std::move(dial));
  begin_next(added, platform::monotonic_now());
  end_if_done(added);
}

/// Tries further addresses, up to the first that does not fail at once.
void Dialler::begin_next(Dials::iterator dial, MonotonicTime now) {
  while (!dial->left.empty()) {
    const auto address = dial->left.front();
    dial->left.pop_front();
    if (!begin(dial, address)) continue;
    // This address and those not yet tried share half of the time left. The other half remains for the last
    // address and its TLS handshake.
    const auto share = (dial->deadline - now) / 2 / static_cast<int>(dial->left.size() + 1);
    dial->next = now + std::clamp<MonotonicTime::duration>(share, shortest_delay, attempt_delay);
    return;
  }
}

/// Begins to connect to `address`. False: that failed at once, and the dial's result says why.
bool Dialler::begin(Dials::iterator dial, const IpAddress& address) {
  auto& result = dial->result;
  result.address = address;
  auto socket = open_source_socket(settings_, address.v6 ? AF_INET6 : AF_INET);
  const auto to = socket_address(address, dial->port);
  if (socket.fd() < 0) {
    note_failure(result, errno, fault_of_socket(errno));
    return false;
  }
  if (::connect(socket.fd(), to.get(), to.length) != 0 && errno != EINPROGRESS) {
    note_failure(result, errno, fault_of_connect(errno, address));
    return false;
  }
  const int fd = socket.fd();
  try {
    watch(dial, {std::move(socket), address});
  } catch (const std::exception&) {  // no memory, or the poller's limit
    take(*dial, fd);
    result.fault = LocalFault::other;
    return false;
  }
  return true;
}

void Dialler::watch(Dials::iterator dial, Connecting candidate) {
  const int fd = candidate.socket.fd();
  if (dial->silent.size() == sockets_per_dial) take(*dial, dial->silent.front().socket.fd());
  dial->silent.push_back(std::move(candidate));
  by_socket_.emplace(fd, dial);
  poller_.watch(fd, false, true);
}

bool Dialler::process(const Poller::Event& event) {
  const auto found = by_socket_.find(event.fd);
  if (found == by_socket_.end()) return false;
  const auto dial = found->second;
  const int error = progress_of(event.fd);
  if (error == EINPROGRESS) return true;
  auto candidate = take(*dial, event.fd);
  if (error == 0) {
    dial->result.address = candidate.address;
    dial->result.socket = std::move(candidate.socket);
    end(dial);
    return true;
  }
  note_failure(dial->result, error, fault_of_connect(error, candidate.address));
  begin_next(dial, platform::monotonic_now());
  end_if_done(dial);
  return true;
}

void Dialler::process_overdue() {
  const auto now = poller_.read_until();
  for (auto dial = dials_.begin(); dial != dials_.end();) {
    const auto current = dial++;
    if (now >= current->deadline) {
      current->result.timed_out = true;
      end(current);
    } else if (!current->left.empty() && now >= current->next) {
      begin_next(current, now);
      end_if_done(current);
    }
  }
}

std::optional<MonotonicTime> Dialler::next_timeout() const {
  if (!ended_.empty()) return MonotonicTime{};
  std::optional<MonotonicTime> result;
  for (const auto& dial : dials_) {
    const auto at = dial.left.empty() ? dial.deadline : std::min(dial.next, dial.deadline);
    if (!result || at < *result) result = at;
  }
  return result;
}

std::vector<Dialled> Dialler::take_ended() {
  process_overdue();
  return std::exchange(ended_, {});
}

/// Takes a connecting socket out of the dial and stops watching it.
Dialler::Connecting Dialler::take(Dial& dial, int fd) {
  poller_.forget(fd);
  by_socket_.erase(fd);
  Connecting candidate;
  const auto at = std::ranges::find(dial.silent, fd, [](const Connecting& one) { return one.socket.fd(); });
  if (at == dial.silent.end()) return candidate;
  candidate = std::move(*at);
  dial.silent.erase(at);
  return candidate;
}

void Dialler::end_if_done(Dials::iterator dial) {
  if (dial->silent.empty() && dial->left.empty()) end(dial);
}

void Dialler::end(Dials::iterator dial) {
  while (!dial->silent.empty()) take(*dial, dial->silent.front().socket.fd());
  ended_.push_back(std::move(dial->result));
  dials_.erase(dial);
}

}  // namespace dispatcher
