// IP addresses and networks as values, without name resolution or policy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace platform {

/// An IPv4 or IPv6 address. An IPv4-mapped IPv6 address stays IPv6; the address policy unwraps it.
struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses the first four

  /// Reads the strict text form of inet_pton (no octal, no short forms, no brackets, no zone).
  static std::optional<IpAddress> parse(std::string_view text);
  /// Returns nullopt for families other than AF_INET and AF_INET6.
  static std::optional<IpAddress> from_sockaddr(const sockaddr* address);
  std::string to_string() const;
  auto operator<=>(const IpAddress&) const = default;
};

/// `10.0.0.0/8`, `fd00::/8`; an address without a prefix is a network of one address.
struct IpNetwork {
  IpAddress base;
  unsigned prefix = 0;  // 0..32 or 0..128

  /// Returns nullopt when the text is malformed, or has bits beyond the prefix (a likely typing error).
  static std::optional<IpNetwork> parse(std::string_view text);
  bool contains(const IpAddress& address) const;
  std::string to_string() const;
};

}  // namespace platform
