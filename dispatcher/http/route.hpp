// Where a URL leads, and how libcurl is told the addresses of its host.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatcher/http/resolver.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

struct Route {
  std::string host;  // as libcurl's parser reads it
  std::string port;
  std::string name;     // to be looked up, in lower case; empty when nothing is
  Addresses addresses;  // that delivery.host_overrides gives; empty for an address that the URL itself names
};

/// An empty one for a text that is no URL: libcurl will say so.
Route route_of(const std::string& url, const std::vector<platform::HostOverride>& overrides);

/// Those that need no lookup: of an override, or the URL's own.
Addresses addresses_of(const Route& route);

/// `host:port`, as libcurl's DNS cache names it.
std::string cache_key(const Route& route);
/// A line of CURLOPT_RESOLVE that adds the addresses of a key, or takes them away.
std::string resolve_line(const std::string& key, const Addresses& addresses);
std::string forget_line(const std::string& key);

/// Routes of the URLs in use: a URL is parsed once, not once a delivery.
class Routes {
 public:
  static constexpr std::size_t max_kept = 8192;

  /// `overrides` outlive it.
  explicit Routes(const std::vector<platform::HostOverride>& overrides) : overrides_(overrides) {}
  /// Valid until the next call.
  const Route& of(const std::string& url);

 private:
  const std::vector<platform::HostOverride>& overrides_;
  std::unordered_map<std::string, Route> kept_;
};

}  // namespace dispatcher
