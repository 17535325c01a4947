#include "dispatcher/http/route.hpp"

#include <curl/curl.h>

#include <memory>
#include <string_view>
#include <utility>

#include "lib/text/text.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part(CURLU* url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

bool is_address(std::string_view host) { return host.starts_with('[') || platform::IpAddress::parse(host); }

}  // namespace

Route route_of(const std::string& url, const std::vector<config::HostOverride>& overrides) {
  const Url parsed(curl_url(), curl_url_cleanup);
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  Route route{part(parsed.get(), CURLUPART_HOST), part(parsed.get(), CURLUPART_PORT), {}, {}};
  if (is_address(route.host)) return route;
  if (const auto* found = webhook::find_override(route.host, overrides)) {
    route.addresses = {found->address};
  } else {
    route.name = text::lower(route.host);
  }
  return route;
}

Addresses addresses_of(const Route& route) {
  if (!route.addresses.empty() || !route.name.empty()) return route.addresses;
  const std::string_view host = route.host;
  const auto bare = host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
  const auto address = platform::IpAddress::parse(bare);
  return address ? Addresses{*address} : Addresses{};
}

std::string cache_key(const Route& route) { return route.host + ":" + route.port; }

std::string resolve_line(const std::string& key, const Addresses& addresses) {
  std::string line = key;
  char before = ':';
  for (const auto& address : addresses) {
    line += std::exchange(before, ',');
    line += address.v6 ? "[" + address.to_string() + "]" : address.to_string();
  }
  return line;
}

std::string forget_line(const std::string& key) { return "-" + key; }

const Route& Routes::of(const std::string& url) {
  if (const auto found = kept_.find(url); found != kept_.end()) return found->second;
  if (kept_.size() >= max_kept) kept_.clear();
  return kept_.emplace(url, route_of(url, overrides_)).first->second;
}

}  // namespace dispatcher
