// Which addresses may be dialled: none of the special-purpose ranges of IANA, IPv4 and IPv6, unless the
// operator allows them for that host; none that the operator denies.
#pragma once

#include <string_view>
#include <vector>

#include "lib/platform/config.hpp"
#include "lib/platform/ip.hpp"

namespace webhook {

/// False for every address of the IANA special-purpose registries (RFC 6890 and successors), multicast,
/// reserved, the metadata services of clouds, and for IPv6 forms that carry such an IPv4 address (mapped,
/// compatible, NAT64, 6to4, Teredo).
bool is_public_address(const platform::IpAddress& address);

/// Whether a pattern of the configuration covers a host's name, in whatever case.
bool host_matches(std::string_view pattern, std::string_view host);

/// The connect-time check (docs/security.md) of an address that the name `host`, without a port, led to:
/// outside `denied_networks`; public and none of `own_addresses`, or within one of `allowed_networks` that is
/// open for that name.
bool may_connect(const platform::IpAddress& address, std::string_view host,
                 const platform::DeliverySettings& settings);

/// What the operator has told of its own network: the addresses of host_overrides, and allowed_networks.
std::vector<platform::IpNetwork> operators_networks(const platform::DeliverySettings& settings);

/// Whether an entity may be told that an attempt went to this address: public, and within none of `hidden`,
/// whatever the webhook's URL is by now.
bool may_be_shown(const platform::IpAddress& address, const std::vector<platform::IpNetwork>& hidden);

}  // namespace webhook
