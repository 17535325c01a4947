// Decides which addresses may be dialled. An address in a special-purpose range of IANA must be allowed by
// the operator for the host. An address that the operator denies is never dialled.
#pragma once

#include <string_view>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/platform/ip.hpp"

namespace webhook {

/// Returns false for addresses of the IANA special-purpose registries (RFC 6890 and successors), multicast
/// and reserved addresses, metadata services of clouds, and IPv6 forms that carry an IPv4 address (mapped,
/// compatible, 6to4, Teredo). Returns true for 64:ff9b::/96 (NAT64) with a public IPv4 address.
bool is_public_address(const platform::IpAddress& address);

/// Whether a pattern of the configuration matches a host's name; ignores case.
bool host_matches(std::string_view pattern, std::string_view host);

/// The check at connect time (docs/security.md#addresses-and-ports-that-are-refused). `host`, without a port,
/// is the name that resolved to the address. The address must be outside `denied_networks`, and either public
/// and not in `own_addresses`, or in one of the `allowed_networks` that are open for that name.
bool may_connect(const platform::IpAddress& address, std::string_view host,
                 const config::DeliverySettings& settings);

/// Whether a delivery may be sent to the host, a name without port: delivery.sandbox is empty or lists it.
bool may_reach(std::string_view host, const config::DeliverySettings& settings);

/// The parts of the operator's own network that the configuration names: the addresses of host_overrides, and
/// allowed_networks.
std::vector<platform::IpNetwork> operators_networks(const config::DeliverySettings& settings);

/// Whether an entity may see that an attempt dialled this address: the address is public and in none of
/// `hidden`. The webhook's present URL does not matter.
bool may_be_shown(const platform::IpAddress& address, const std::vector<platform::IpNetwork>& hidden);

}  // namespace webhook
