// Decides whether a text is a URL that a webhook may have (web/docs/webhooks.md#las-reglas-de-cada-campo,
// docs/decisions.md#urls). Looks up no name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/config/config.hpp"

namespace webhook {

inline constexpr std::size_t max_url_characters = 2000;

struct TargetUrl {
  std::string text;    // ASCII, as stored, shown and dialled (an IDN host as punycode)
  std::string host;    // lower case, without brackets or a trailing dot
  std::uint16_t port;  // 443 unless the URL names one
};

/// `message` is a Spanish sentence for the entity: what is wrong and how to mend it.
struct UrlRejection {
  std::string message;
};

/// Judges a URL as libcurl's own parser reads it, because libcurl dials it.
std::variant<TargetUrl, UrlRejection> judge_target_url(std::string_view url,
                                                       const std::vector<config::HostOverride>& overrides);

/// The `host:port` of a stored URL, the same for every spelling of an IPv6 address and of a port. The limits
/// per host and the connections use it to tell hosts apart; the pauses use comparable_host().
std::string host_and_port(std::string_view stored_url);
/// The name, or the address without brackets, of a `host:port`. The result is a view of the argument.
std::string_view host_name(std::string_view host_and_port);
/// The host of a stored URL, the same for every spelling of the host: a name in lower case without a final
/// dot, or an address as IpAddress writes it. For comparison and messages: never dialled.
std::string comparable_host(std::string_view stored_url);

/// A spelling that is the same for all stored URLs with the same target (RFC 3986 sections 6.2.2 and 6.2.3,
/// and paths that servers commonly treat alike). Only for comparison: never dialled, never shown.
std::string comparable_url(std::string_view stored_url);

/// The first override that covers the host (ignoring case), or nullptr.
const config::HostOverride* find_override(std::string_view host,
                                          const std::vector<config::HostOverride>& overrides);

}  // namespace webhook
