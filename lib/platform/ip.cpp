#include "lib/platform/ip.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "lib/text/text.hpp"

namespace platform {

namespace {

unsigned width(const IpAddress& address) { return address.v6 ? 128 : 32; }

bool bit(const IpAddress& address, unsigned index) {
  return (address.bytes.at(index / 8) >> (7 - index % 8) & 1) != 0;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(text);  // inet_pton wants a C string
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  IpAddress address;
  if (::inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  address.v6 = true;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::from_sockaddr(const sockaddr* address) {
  IpAddress result;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    std::memcpy(result.bytes.data(), &v4.sin_addr, 4);
    return result;
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    result.v6 = true;
    std::memcpy(result.bytes.data(), &v6.sin6_addr, 16);
    return result;
  }
  return std::nullopt;
}

std::string IpAddress::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
  return text.data();
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto base = IpAddress::parse(text.substr(0, slash));
  if (!base) return std::nullopt;
  IpNetwork network{*base, width(*base)};
  if (slash == std::string_view::npos) return network;
  const auto prefix = text::parse_number<unsigned>(text.substr(slash + 1));
  if (!prefix || *prefix > width(*base)) return std::nullopt;
  network.prefix = *prefix;
  for (unsigned i = network.prefix; i < width(*base); ++i) {
    if (bit(*base, i)) return std::nullopt;
  }
  return network;
}

bool IpNetwork::contains(const IpAddress& address) const {
  if (address.v6 != base.v6) return false;
  for (unsigned i = 0; i < prefix; ++i) {
    if (bit(address, i) != bit(base, i)) return false;
  }
  return true;
}

std::string IpNetwork::to_string() const { return base.to_string() + "/" + std::to_string(prefix); }

}  // namespace platform
