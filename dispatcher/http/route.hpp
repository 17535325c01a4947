// Reads host, port and addresses from a URL, and writes the lines that tell libcurl the addresses of a host.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatcher/http/resolver.hpp"
#include "lib/config/config.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

struct Route {
  std::string host;  // as libcurl's parser reads it
  std::string port;
  std::string name;     // the host in lower case, if it must be looked up; otherwise empty
  Addresses addresses;  // from delivery.host_overrides; empty if the URL itself has an address
};

/// Returns an empty route for text that is no URL; libcurl reports the error.
Route route_of(const std::string& url, const std::vector<config::HostOverride>& overrides);

/// The addresses known without a lookup: from an override or in the URL.
Addresses addresses_of(const Route& route);

/// `host:port`, the key in libcurl's DNS cache.
std::string cache_key(const Route& route);
/// The line of CURLOPT_RESOLVE that adds the addresses of a key.
std::string resolve_line(const std::string& key, const Addresses& addresses);
/// The line of CURLOPT_RESOLVE that removes the addresses of a key.
std::string forget_line(const std::string& key);

/// Keeps the routes of URLs, so that a URL is not parsed for every delivery.
class Routes {
 public:
  static constexpr std::size_t max_kept = 8192;  // routes; before one more is kept, all are forgotten

  /// `overrides` outlives this object.
  explicit Routes(const std::vector<config::HostOverride>& overrides) : overrides_(overrides) {}
  /// The returned reference is valid until the next call.
  const Route& of(const std::string& url);

 private:
  const std::vector<config::HostOverride>& overrides_;
  std::unordered_map<std::string, Route> kept_;
};

}  // namespace dispatcher
