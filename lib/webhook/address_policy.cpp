#include "lib/webhook/address_policy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "lib/text/text.hpp"

namespace webhook {

namespace {

using platform::IpAddress;
using platform::IpNetwork;

constexpr IpNetwork v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, unsigned prefix) {
  return {IpAddress{false, {a, b, c}}, prefix};
}

/// A network from the first 48 bits of its base, in groups of 16 bits; the base's other bits are 0.
constexpr IpNetwork v6(std::array<std::uint16_t, 3> groups, unsigned prefix) {
  IpNetwork network{IpAddress{true, {}}, prefix};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    network.base.bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
    network.base.bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xff);
  }
  return network;
}

// The address at which Azure serves a virtual machine (WireServer: credentials, certificates, DNS).
constexpr IpNetwork azure_host{IpAddress{false, {168, 63, 129, 16}}, 32};

// The IANA IPv4 Special-Purpose Address Registry, multicast and class E. Blocks are refused whole: their
// globally reachable addresses (such as 192.0.0.9) are anycast services, never receivers.
constexpr std::array special_v4{
    v4(0, 0, 0, 8),        // "this network"
    v4(10, 0, 0, 8),       // private
    v4(100, 64, 0, 10),    // carrier-grade NAT
    v4(127, 0, 0, 8),      // loopback
    azure_host,            // in no registry, but serves metadata
    v4(169, 254, 0, 16),   // link-local, cloud metadata
    v4(172, 16, 0, 12),    // private
    v4(192, 0, 0, 24),     // protocol assignments
    v4(192, 0, 2, 24),     // documentation
    v4(192, 31, 196, 24),  // AS112
    v4(192, 52, 193, 24),  // AMT
    v4(192, 88, 99, 24),   // 6to4 relays, deprecated
    v4(192, 168, 0, 16),   // private
    v4(192, 175, 48, 24),  // AS112
    v4(198, 18, 0, 15),    // benchmarking
    v4(198, 51, 100, 24),  // documentation
    v4(203, 0, 113, 24),   // documentation
    v4(224, 0, 0, 4),      // multicast
    v4(240, 0, 0, 4),      // reserved, and limited broadcast
};

// All global unicast addresses. ::1, NAT64, 100::/64, 5f00::/16, fc00::/7, fe80::/10, ff00::/8 and others are
// outside.
constexpr IpNetwork global_unicast_v6 = v6({0x2000}, 3);

// The special-purpose blocks within global unicast.
constexpr std::array special_v6{
    v6({0x2001}, 23),                  // protocol assignments: Teredo, benchmarking, AMT, ORCHID, DRIP …
    v6({0x2001, 0x0db8}, 32),          // documentation
    v6({0x2002}, 16),                  // 6to4
    v6({0x2620, 0x004f, 0x8000}, 48),  // AS112
    v6({0x3fff}, 20),                  // documentation
};

constexpr IpNetwork well_known_nat64 = v6({0x0064, 0xff9b}, 96);

/// An IPv6 form that carries an IPv4 address.
struct Carrier {
  IpNetwork network;
  std::size_t offset;           // of the IPv4 address's first byte
  std::uint8_t obfuscated = 0;  // XORed with each byte
};

constexpr IpNetwork mapped = [] {
  IpNetwork network{IpAddress{true, {}}, 96};
  network.base.bytes[10] = network.base.bytes[11] = 0xff;
  return network;
}();

constexpr IpNetwork translated = [] {
  IpNetwork network{IpAddress{true, {}}, 96};
  network.base.bytes[8] = network.base.bytes[9] = 0xff;
  return network;
}();

constexpr std::array carriers{
    Carrier{mapped, 12},                          // ::ffff:a.b.c.d (RFC 4291)
    Carrier{translated, 12},                      // ::ffff:0:a.b.c.d (RFC 2765)
    Carrier{well_known_nat64, 12},                // 64:ff9b::a.b.c.d (RFC 6052)
    Carrier{v6({0x2002}, 16), 2},                 // 2002:aabb:ccdd:: (RFC 3056)
    Carrier{v6({0x2001, 0x0000}, 32), 12, 0xff},  // Teredo's client (RFC 4380)
    Carrier{v6({0}, 96), 12},                     // ::a.b.c.d (RFC 4291, deprecated)
};

bool is_unspecified_or_loopback(const IpAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end() - 1, [](auto byte) { return byte == 0; }) &&
         address.bytes.back() <= 1;
}

std::optional<IpAddress> carried_v4(const IpAddress& address) {
  if (!address.v6 || is_unspecified_or_loopback(address)) return std::nullopt;
  const auto carrier = std::find_if(carriers.begin(), carriers.end(),
                                    [&](const Carrier& c) { return c.network.contains(address); });
  if (carrier == carriers.end()) return std::nullopt;
  IpAddress carried;
  for (std::size_t i = 0; i < 4; ++i) {
    carried.bytes[i] = static_cast<std::uint8_t>(address.bytes[carrier->offset + i] ^ carrier->obfuscated);
  }
  return carried;
}

/// Returns a predicate: whether a network contains `address`, or the IPv4 address that `address` carries.
auto within_which(const IpAddress& address) {
  return [address, carried = carried_v4(address)](const IpNetwork& network) {
    return network.contains(address) || (carried && network.contains(*carried));
  };
}

template <class Networks>
bool any_contains(const Networks& networks, const IpAddress& address) {
  return std::any_of(networks.begin(), networks.end(),
                     [&](const IpNetwork& network) { return network.contains(address); });
}

}  // namespace

bool is_public_address(const IpAddress& address) {
  if (!address.v6) return !any_contains(special_v4, address);
  // An IPv6-only host with DNS64 reaches every IPv4 receiver through NAT64.
  if (well_known_nat64.contains(address)) return is_public_address(*carried_v4(address));
  return global_unicast_v6.contains(address) && !any_contains(special_v6, address);
}

bool host_matches(std::string_view pattern, std::string_view host) {
  if (!pattern.starts_with("*.")) return text::equal_ignoring_case(host, pattern);
  const auto domain = pattern.substr(1);  // with its dot
  return host.size() > domain.size() &&
         text::equal_ignoring_case(host.substr(host.size() - domain.size()), domain);
}

bool may_reach(std::string_view host, const config::DeliverySettings& settings) {
  return settings.sandbox.empty() || std::ranges::any_of(settings.sandbox, [host](const auto& pattern) {
           return host_matches(pattern, host);
         });
}

bool may_connect(const IpAddress& address, std::string_view host, const config::DeliverySettings& settings) {
  const auto within = within_which(address);
  const auto open_for_host = [&](const config::AllowedNetwork& allowed) {
    if (!allowed.pattern.empty()) return host_matches(allowed.pattern, host);
    return std::ranges::any_of(settings.host_overrides, [host](const config::HostOverride& override) {
      return host_matches(override.pattern, host);
    });
  };
  if (std::ranges::any_of(settings.denied_networks, within)) return false;
  return (is_public_address(address) && std::ranges::none_of(settings.own_addresses, within)) ||
         std::ranges::any_of(settings.allowed_networks, [&](const config::AllowedNetwork& allowed) {
           return within(allowed.network) && open_for_host(allowed);
         });
}

std::vector<IpNetwork> operators_networks(const config::DeliverySettings& settings) {
  std::vector<IpNetwork> networks;
  for (const auto& one : settings.host_overrides)
    networks.push_back({one.address, one.address.v6 ? 128U : 32U});
  for (const auto& one : settings.allowed_networks) networks.push_back(one.network);
  return networks;
}

bool may_be_shown(const IpAddress& address, const std::vector<IpNetwork>& hidden) {
  return is_public_address(address) && std::ranges::none_of(hidden, within_which(address));
}

}  // namespace webhook
