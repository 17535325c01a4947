#include "dispatcher/http/own_addresses.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/platform/interfaces.hpp"

namespace dispatcher {

namespace {

using platform::IpAddress;
using platform::IpNetwork;

constexpr std::chrono::seconds interval{30};

void add(std::vector<IpNetwork>& networks, const IpAddress& address) {
  networks.push_back({address, address.v6 ? 128U : 32U});
}

/// Returns an empty vector if the addresses cannot be read.
std::vector<IpNetwork> interface_networks() {
  std::vector<IpNetwork> networks;
  for (const auto& address : platform::interface_addresses()) add(networks, address);
  return networks;
}

/// The host of "host", "host:port" or "[IPv6]:port".
std::string without_port(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Returns an empty vector if the name has no address, or no name server answers.
std::vector<IpNetwork> host_addresses(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;  // otherwise each address comes once per socket type
  addrinfo* first = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &wanted, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, ::freeaddrinfo);
  std::vector<IpNetwork> networks;
  for (const auto* one = first; one != nullptr; one = one->ai_next) {
    if (const auto address = IpAddress::from_sockaddr(one->ai_addr)) add(networks, *address);
  }
  return networks;
}

void replace_if_known(std::vector<IpNetwork>& old, std::vector<IpNetwork> latest) {
  if (!latest.empty()) old = std::move(latest);
}

}  // namespace

using Networks = std::vector<IpNetwork>;

struct OwnAddresses::Shared {
  std::mutex mutex;  // guards `stop` and `found`
  std::condition_variable stopped;
  bool stop = false;
  std::optional<Networks> found;

  // Used by the constructor, then by the thread alone.
  std::map<std::string, Networks> database_hosts;  // by name
  Networks interfaces;

  void tell() {
    Networks all = interfaces;
    for (const auto& [name, addresses] : database_hosts)
      all.insert(all.end(), addresses.begin(), addresses.end());
    const std::scoped_lock lock(mutex);
    found = std::move(all);
  }

  void look() {
    replace_if_known(interfaces, interface_networks());
    for (auto& [name, addresses] : database_hosts) {
      replace_if_known(addresses, host_addresses(name));
      tell();
    }
    tell();
  }

  /// Waits for `interval`, or until `stop` is set. Returns true when the thread must end.
  bool wait() {
    std::unique_lock lock(mutex);
    return stopped.wait_for(lock, interval, [this] { return stop; });
  }
};

OwnAddresses::OwnAddresses(const std::vector<std::string>& database_hosts)
    : shared_(std::make_shared<Shared>()) {
  for (const auto& host : database_hosts) {
    auto& addresses = shared_->database_hosts[without_port(host)];
    if (const auto literal = IpAddress::parse(without_port(host))) add(addresses, *literal);
  }
  shared_->interfaces = interface_networks();
  if (shared_->interfaces.empty())
    throw std::system_error(errno, std::generic_category(), "addresses of this host");
  shared_->tell();
  // Detached, because getaddrinfo cannot be interrupted.
  std::thread([shared = shared_] {
    do {
      shared->look();
    } while (!shared->wait());
  }).detach();
}

OwnAddresses::~OwnAddresses() {
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->stopped.notify_all();
}

std::optional<Networks> OwnAddresses::take() {
  const std::scoped_lock lock(shared_->mutex);
  return std::exchange(shared_->found, std::nullopt);
}

}  // namespace dispatcher
