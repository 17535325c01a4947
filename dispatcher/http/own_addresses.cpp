#include "http/own_addresses.hpp"

#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

namespace dispatcher {

namespace {

using platform::IpAddress;
using platform::IpNetwork;

constexpr std::chrono::seconds interval{30};

void add(std::vector<IpNetwork>& networks, const sockaddr* address) {
  if (address == nullptr) return;
  if (const auto found = IpAddress::from_sockaddr(address))
    networks.push_back({*found, found->v6 ? 128U : 32U});
}

/// Empty: they could not be asked for.
std::vector<IpNetwork> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<IpNetwork> networks;
  for (const auto* one = first; one != nullptr; one = one->ifa_next) add(networks, one->ifa_addr);
  return networks;
}

/// The host of "host", "host:port" or "[IPv6]:port".
std::string without_port(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Empty: the name leads nowhere, or no server answers.
std::vector<IpNetwork> host_addresses(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;  // each address once
  addrinfo* first = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &wanted, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, ::freeaddrinfo);
  std::vector<IpNetwork> networks;
  for (const auto* one = first; one != nullptr; one = one->ai_next) add(networks, one->ai_addr);
  return networks;
}

void replace_if_known(std::vector<IpNetwork>& old, std::vector<IpNetwork> latest) {
  if (!latest.empty()) old = std::move(latest);
}

}  // namespace

OwnAddresses::OwnAddresses(const std::vector<std::string>& database_hosts) {
  for (const auto& host : database_hosts) database_hosts_[without_port(host)];
  look();
  if (interfaces_.empty()) throw std::system_error(errno, std::generic_category(), "addresses of this host");
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, stop, interval, [] { return false; });
      lock.unlock();
      if (stop.stop_requested()) return;
      look();
    }
  });
}

std::optional<OwnAddresses::Networks> OwnAddresses::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

/// The constructor's, then the thread's.
void OwnAddresses::look() {
  replace_if_known(interfaces_, interface_addresses());
  Networks all = interfaces_;
  for (auto& [name, addresses] : database_hosts_) {
    replace_if_known(addresses, host_addresses(name));
    all.insert(all.end(), addresses.begin(), addresses.end());
  }
  const std::scoped_lock lock(mutex_);
  found_ = std::move(all);
}

}  // namespace dispatcher
