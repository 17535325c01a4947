// Which addresses may be dialled: none of the special-purpose ranges of IANA, IPv4 and IPv6, unless the
// operator allows them.
#pragma once

#include <vector>

#include "platform/ip.hpp"

namespace webhook {

/// False for every address of the IANA special-purpose registries (RFC 6890 and successors), multicast,
/// reserved, the metadata services of clouds, and for IPv6 forms that carry such an IPv4 address (mapped,
/// compatible, NAT64, 6to4, Teredo).
bool is_public_address(const platform::IpAddress& address);

/// The connect-time check (docs/security.md): public, or within `allowed` (delivery.allowed_networks).
bool may_connect(const platform::IpAddress& address, const std::vector<platform::IpNetwork>& allowed);

}  // namespace webhook
