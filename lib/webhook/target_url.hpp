// Is this text a URL that we are willing to notify? (web/docs/webhooks.md#las-reglas-de-cada-campo,
// docs/decisions.md#urls). No DNS.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/platform/config.hpp"

namespace webhook {

inline constexpr std::size_t max_url_characters = 2000;

struct TargetUrl {
  std::string text;    // ASCII, as stored, shown and dialled (an IDN host as punycode)
  std::string host;    // lower case, without brackets or a trailing dot
  std::uint16_t port;  // 443 unless the URL names one
};

/// A Spanish sentence for the entity: what is wrong and how to mend it.
struct UrlRejection {
  std::string message;
};

/// Judges a URL as libcurl's own parser reads it: it is the dialler.
std::variant<TargetUrl, UrlRejection> judge_target_url(std::string_view url,
                                                       const std::vector<platform::HostOverride>& overrides);

/// `host:port` of a URL as it is stored: what requests to it have in common with others that go there.
std::string host_and_port(std::string_view stored_url);
/// Of such a text: the name, or the address without brackets. A view of it.
std::string_view host_name(std::string_view host_and_port);

/// One spelling for all URLs, as they are stored, that end at the same target (RFC 3986, 6.2.2 and 6.2.3;
/// what servers commonly take for the same path, too). To compare: never dialled, never shown.
std::string comparable_url(std::string_view stored_url);

/// The override that covers a host (case-insensitive; the first that matches), or nullptr.
const platform::HostOverride* find_override(std::string_view host,
                                            const std::vector<platform::HostOverride>& overrides);

}  // namespace webhook
