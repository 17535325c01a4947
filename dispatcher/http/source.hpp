// Sockets to receivers, sent from delivery.source_addresses where there are any.
#pragma once

#include <sys/socket.h>

#include "dispatcher/http/socket.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const platform::IpAddress& address, std::uint16_t port);

/// A TCP socket of AF_INET or AF_INET6. Without one errno says why: EAFNOSUPPORT where source_addresses does
/// not name that family, as on a host that does not have it.
Socket open_source_socket(const platform::DeliverySettings& settings, int family);

/// Throws ConfigError for one that is to be sent from and is none of this host's.
void require_source_addresses(const platform::DeliverySettings& settings);

}  // namespace dispatcher
