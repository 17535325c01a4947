// An accepted URL is accepted again unchanged, and its host, as the C library reads it, is no address that
// IANA's registries reserve.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "lib/text/utf8.hpp"
#include "lib/webhook/target_url.hpp"
#include "tests/fuzz/property.hpp"
#include "tests/unit/url_generator.hpp"

namespace {

using platform::IpAddress;
using webhook::TargetUrl;

/// Reads the host like getaddrinfo, including every old notation of IPv4; nullopt for a name.
std::optional<IpAddress> as_address(const std::string& host) {
  in_addr v4{};
  if (::inet_aton(host.c_str(), &v4) == 0) return IpAddress::parse(host);
  IpAddress address;
  std::memcpy(address.bytes.data(), &v4, sizeof v4);
  return address;
}

/// The text between `https://` and the port or the path, without brackets.
std::string host_in(std::string_view url) {
  const std::string_view rest = url.substr(std::string_view("https://").size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
  if (authority.starts_with('[')) return std::string(authority.substr(1, authority.find(']') - 1));
  return std::string(authority.substr(0, authority.find(':')));
}

void require_public(const std::string& host) {
  const auto address = as_address(host);
  fuzz::require(!address || is_public_by_the_registries(*address), "the host is no reserved address");
  fuzz::require(address || host.find('.') != std::string::npos, "a host name has more than one label");
}

void check(const TargetUrl& target) {
  fuzz::require(std::ranges::all_of(target.text, [](unsigned char c) { return c > ' ' && c < 0x7f; }),
                "the URL is visible ASCII");
  const auto end_of_authority = target.text.find_first_of("/?", std::string_view("https://").size());
  fuzz::require(target.text.find_first_of("@\\#") >= end_of_authority,
                "nothing but host and port before the path");
  fuzz::require(target.port != 0, "the port is not 0");
  require_public(host_in(target.text));
  require_public(target.host);
  const auto again = webhook::judge_target_url(target.text, {});
  const auto* same = std::get_if<TargetUrl>(&again);
  fuzz::require(same != nullptr, "what is stored is accepted again");
  fuzz::require(same->text == target.text && same->host == target.host && same->port == target.port,
                "what is stored is not changed when it is accepted again");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto verdict = webhook::judge_target_url(fuzz::text_of(data, size), {});
  if (const auto* target = std::get_if<TargetUrl>(&verdict)) {
    check(*target);
  } else {
    fuzz::require_sentence(std::get<webhook::UrlRejection>(verdict).message, 200);
  }
  return 0;
}
