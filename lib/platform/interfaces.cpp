#include "lib/platform/interfaces.hpp"

#include <ifaddrs.h>

#include <memory>

namespace platform {

std::vector<IpAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<IpAddress> addresses;
  for (const auto* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    if (const auto address = IpAddress::from_sockaddr(one->ifa_addr)) addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace platform
