// Makes the sockets to receivers, bound as delivery.source_addresses says.
#pragma once

#include <sys/socket.h>

#include "dispatcher/http/socket.hpp"
#include "lib/config/config.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const platform::IpAddress& address, std::uint16_t port);

/// Returns a TCP socket of `family` (AF_INET or AF_INET6). If it has no descriptor, errno says why:
/// EAFNOSUPPORT if source_addresses has no address of that family, or the host has no such family.
Socket open_source_socket(const config::DeliverySettings& settings, int family);

/// Throws std::runtime_error if a source address to be bound does not belong to this host at present.
void require_source_addresses(const config::DeliverySettings& settings);

}  // namespace dispatcher
