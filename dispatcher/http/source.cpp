#include "dispatcher/http/source.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace dispatcher {

namespace {

using config::SourceAddress;

/// The kernel chooses the port at connect(), so that one address can use all its ports for each receiver.
bool bind_source(int fd, const platform::IpAddress& address) {
  constexpr int yes = 1;
  const auto from = socket_address(address, 0);
  return ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes) == 0 &&
         ::bind(fd, from.get(), from.length) == 0;
}

/// Linux binds a socket to a network's broadcast address, but then sends from another address.
bool is_broadcast(const platform::IpAddress& address) {
  const auto to = socket_address(address, 9);  // any port: connect() sends nothing
  const Socket socket(::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
  return socket.fd() >= 0 && ::connect(socket.fd(), to.get(), to.length) != 0 && errno == EACCES;
}

Socket open_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

/// False: errno says why not.
bool can_send_from(const platform::IpAddress& address) {
  const Socket socket = open_socket(address.v6 ? AF_INET6 : AF_INET);
  if (socket.fd() < 0 || !bind_source(socket.fd(), address)) return false;
  if (!is_broadcast(address)) return true;
  errno = EADDRNOTAVAIL;
  return false;
}

}  // namespace

SocketAddress socket_address(const platform::IpAddress& address, std::uint16_t port) {
  SocketAddress result;
  if (address.v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.length = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.length = sizeof v4;
  }
  return result;
}

Socket open_source_socket(const config::DeliverySettings& settings, int family) {
  const auto& sources = settings.source_addresses;
  const auto of_family = [family](const SourceAddress& source) {
    return source.network.base.v6 == (family == AF_INET6);
  };
  if (!sources.empty() && std::ranges::none_of(sources, of_family)) {
    errno = EAFNOSUPPORT;
    return {};
  }
  Socket socket = open_socket(family);
  const auto bound = std::ranges::find_if(
      sources, [&](const SourceAddress& source) { return source.bound && of_family(source); });
  if (socket.fd() < 0 || bound == sources.end()) return socket;
  if (bind_source(socket.fd(), bound->network.base)) return socket;
  const int error = errno;
  socket = {};
  errno = error;
  return {};
}

void require_source_addresses(const config::DeliverySettings& settings) {
  for (const auto& source : settings.source_addresses) {
    if (!source.bound) continue;
    if (can_send_from(source.network.base)) continue;
    const auto address = source.network.base.to_string();
    // This is not a ConfigError, because systemd does not restart a program that ends with one. A restart
    // helps here: the host may get the address later, for example when its network comes up after the boot.
    throw std::runtime_error("delivery.source_addresses: nothing can be sent from " + address +
                             " on this host (" + std::generic_category().message(errno) +
                             "): name an address that `ip address` shows, or " + source.network.to_string() +
                             " if receivers see that address");
  }
}

}  // namespace dispatcher
