#pragma once

#include <vector>

#include "lib/platform/ip.hpp"

namespace platform {

/// The addresses of this host's interfaces, loopback included. Empty if they cannot be read: errno says why.
std::vector<IpAddress> interface_addresses();

}  // namespace platform
