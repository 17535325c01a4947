#include "tests/unit/url_generator.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

using platform::IpAddress;
using platform::IpNetwork;

namespace {

constexpr auto special_text = std::to_array<std::string_view>(
    {"0.0.0.0/8",       "10.0.0.0/8",      "100.64.0.0/10",    "127.0.0.0/8",
     "169.254.0.0/16",  "172.16.0.0/12",   "192.0.0.0/24",     "192.0.2.0/24",
     "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",   "192.168.0.0/16",
     "192.175.48.0/24", "198.18.0.0/15",   "198.51.100.0/24",  "203.0.113.0/24",
     "224.0.0.0/4",     "240.0.0.0/4",     "168.63.129.16/32", "::/128",
     "::1/128",         "::ffff:0:0/96",   "::ffff:0:0:0/96",  "::/96",
     "64:ff9b:1::/48",  "100::/64",        "100:0:0:1::/64",   "2001::/23",
     "2001::/32",       "2001:db8::/32",   "2002::/16",        "2620:4f:8000::/48",
     "3fff::/20",       "5f00::/16",       "fc00::/7",         "fe80::/10",
     "fec0::/10",       "ff00::/8"});

std::vector<IpNetwork> parsed(std::span<const std::string_view> texts) {
  std::vector<IpNetwork> networks;
  for (const auto text : texts) networks.push_back(IpNetwork::parse(text).value());
  return networks;
}

const std::vector<IpNetwork>& special() {
  static const std::vector<IpNetwork> networks = parsed(special_text);
  return networks;
}

/// The address that follows `address` (`step` is 1) or precedes it (-1).
IpAddress neighbour(IpAddress address, int step) {
  const std::uint8_t wraps = step > 0 ? 0 : 0xff;
  for (int i = address.v6 ? 15 : 3; i >= 0; --i) {
    auto& byte = address.bytes.at(static_cast<std::size_t>(i));
    byte = static_cast<std::uint8_t>(byte + step);
    if (byte != wraps) break;
  }
  return address;
}

IpAddress last_of(const IpNetwork& network) {
  IpAddress last = network.base;
  for (unsigned i = network.prefix; i < (last.v6 ? 128U : 32U); ++i)
    last.bytes.at(i / 8) = static_cast<std::uint8_t>(last.bytes.at(i / 8) | 0x80U >> i % 8);
  return last;
}

std::uint32_t number_of(const IpAddress& v4) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | v4.bytes.at(i);
  return number;
}

std::string formatted(const char* format, unsigned value) {
  std::array<char, 40> text{};
  const int length = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string replaced(std::string text, std::size_t at, std::size_t length, std::string_view by) {
  return text.replace(at, length, by);
}

constexpr auto names = std::to_array<std::string_view>({"localhost",
                                                        "a.localhost",
                                                        "localhost.localdomain",
                                                        "localhost6.localdomain6",
                                                        "intranet",
                                                        "db1",
                                                        "printer.local",
                                                        "x.internal",
                                                        "metadata.google.internal",
                                                        "x.lan",
                                                        "x.home",
                                                        "router.home.arpa",
                                                        "x.corp",
                                                        "x.private",
                                                        "x.test",
                                                        "x.invalid",
                                                        "x.onion",
                                                        "example.com",
                                                        "hooks.example.org",
                                                        "127.0.0.1.example.com",
                                                        "localhost.example.com",
                                                        "xn--espaa-rta.es",
                                                        "a_b.example.com",
                                                        "españa.es",
                                                        "1.example.net",
                                                        "example.7",
                                                        "example.0x7f",
                                                        "1.2.3.4.5"});
constexpr auto prefixes = std::to_array<std::string_view>(
    {"http://", "HTTPS://", "https:", "https:/", "https:///", "https:\\\\", "//", "https://good.example.com@",
     "https://u:p@", "https://@", "https://good.example.com\\@", "https://good.example.com#@",
     "https://good.example.com/@", "https://good.example.com?@", "https://[::1]@",
     "https://good.example.com:443@"});
constexpr auto suffixes = std::to_array<std::string_view>({"\\@good.example.com/",
                                                           "#@good.example.com/",
                                                           "?@good.example.com",
                                                           "/@good.example.com",
                                                           "@good.example.com/",
                                                           ".:443/",
                                                           "%00.example.com/",
                                                           "%2f@good.example.com",
                                                           ":0/",
                                                           ":65536/",
                                                           ":/",
                                                           ":443:80/",
                                                           ":+1/",
                                                           ":0443/",
                                                           ":8443/x?y=z",
                                                           "\t/",
                                                           " /",
                                                           "\r\n/",
                                                           "%0d%0a",
                                                           "\xC2\xA0/",
                                                           "/ñ",
                                                           "%25eth0/",
                                                           ".example.com/"});
constexpr auto endings = std::to_array<std::string_view>({"", "/", "/x?y=%20", ":443/", ":8443", "?q"});
constexpr auto fragments = std::to_array<std::string_view>(
    {"@", ":",         "/",      "\\",        "#",   "?",   "%",   "[",  "]",    ".",           "..",
     " ", "0",         "0x",     "127.0.0.1", "::1", "%2e", "%40", "。", "．",   "\xC2\xAD",    "\t",
     "-", "localhost", ".local", "&",         ";",   ",",   "1",   "7f", "xn--", "\xE2\x80\x8B"});
constexpr auto wide_digits =
    std::to_array<std::string_view>({"０", "１", "２", "３", "４", "５", "６", "７", "８", "９"});
constexpr auto circled_digits =
    std::to_array<std::string_view>({"⓪", "①", "②", "③", "④", "⑤", "⑥", "⑦", "⑧", "⑨"});

}  // namespace

bool is_public_by_the_registries(const IpAddress& address) {
  static const IpNetwork global_unicast = IpNetwork::parse("2000::/3").value();
  static const IpNetwork nat64 = IpNetwork::parse("64:ff9b::/96").value();
  if (nat64.contains(address)) {
    IpAddress v4;
    std::copy(address.bytes.begin() + 12, address.bytes.end(), v4.bytes.begin());
    return is_public_by_the_registries(v4);
  }
  if (address.v6 && !global_unicast.contains(address)) return false;
  return std::ranges::none_of(special(), [&](const IpNetwork& network) { return network.contains(address); });
}

/// An address, often at an edge of a special range, where a wrong prefix length shows.
IpAddress UrlGenerator::address() {
  IpAddress any{one_in(2), {}};
  for (std::size_t i = 0; i < (any.v6 ? 16U : 4U); ++i)
    any.bytes.at(i) = static_cast<std::uint8_t>(below(256));
  if (any.v6 && one_in(2)) any.bytes[0] = static_cast<std::uint8_t>(0x20 + below(0x20));
  if (one_in(4)) return any;
  const IpNetwork& network = special()[below(special().size())];
  switch (below(6)) {
    case 0:
      return network.base;
    case 1:
      return last_of(network);
    case 2:
      return neighbour(network.base, -1);
    case 3:
      return neighbour(last_of(network), 1);
    case 4: {  // a NAT64 address with the first address of an IPv4 range, or with four random bytes
      IpAddress carrier = IpAddress::parse("64:ff9b::").value();
      const IpAddress carried = network.base.v6 ? any : network.base;
      std::copy_n(carried.bytes.begin(), 4, carrier.bytes.begin() + 12);
      return carrier;
    }
    default: {  // anywhere inside
      IpAddress inside{network.base.v6, {}};
      for (unsigned i = 0; i < (inside.v6 ? 16U : 4U); ++i) {
        const auto fixed = static_cast<std::uint8_t>(network.base.bytes.at(i));
        const unsigned bits = std::min(8U, network.prefix - std::min(network.prefix, 8 * i));
        const auto loose = static_cast<std::uint8_t>(below(256) & (0xFFU >> bits));
        inside.bytes.at(i) = static_cast<std::uint8_t>(fixed | loose);
      }
      return inside;
    }
  }
}

std::string UrlGenerator::spell_number(std::uint32_t value) {
  switch (below(6)) {
    case 0:
      return formatted("0x%x", value);
    case 1:
      return formatted("0X%08X", value);
    case 2:
      return formatted("0%o", value);
    default:
      return std::to_string(value);
  }
}

/// Writes the address in one to four parts; the last part holds the rest.
std::string UrlGenerator::spell_unusually(std::uint32_t address) {
  const unsigned parts = one_in(2) ? 4 : 1 + static_cast<unsigned>(below(4));
  std::string text;
  for (unsigned i = 0; i + 1 < parts; ++i) text += spell_number(address >> (24 - 8 * i) & 0xff) + ".";
  text += spell_number(parts == 1 ? address : address & (0xffffffffU >> 8 * (parts - 1)));
  return text;
}

std::string UrlGenerator::spell_v4(const IpAddress& address) {
  std::string text = one_in(2) ? address.to_string() : spell_unusually(number_of(address));
  return one_in(8) ? text + "." : text;
}

std::string UrlGenerator::spell_v6(const IpAddress& address) {
  std::string text;
  switch (below(3)) {
    case 0:
      text = address.to_string();
      break;
    case 1:
      for (std::size_t i = 0; i < 16; i += 2)
        text += (i == 0 ? "" : ":") +
                formatted(one_in(2) ? "%04x" : "%X", address.bytes.at(i) * 256U + address.bytes.at(i + 1));
      break;
    default:
      for (std::size_t i = 0; i < 12; i += 2)
        text += formatted("%x:", address.bytes.at(i) * 256U + address.bytes.at(i + 1));
      for (std::size_t i = 12; i < 16; ++i)
        text += (i == 12 ? "" : ".") + std::to_string(address.bytes.at(i));
  }
  return "[" + text + "]";
}

std::string UrlGenerator::spell(const IpAddress& address) {
  return address.v6 ? spell_v6(address) : spell_v4(address);
}

std::string UrlGenerator::name() {
  std::string text(pick(names));
  for (char& c : text) {
    if (c >= 'a' && c <= 'z' && one_in(16)) c = static_cast<char>(c - 'a' + 'A');
  }
  return one_in(8) ? text + "." : text;
}

/// Changes one character so that some reader still takes the text for the same host: percent-encodes it, or
/// replaces a digit or dot by one that Unicode treats as ASCII. May return `host` unchanged.
std::string UrlGenerator::disguised(std::string host) {
  const std::size_t at = below(host.size());
  const char c = host[at];
  switch (below(4)) {
    case 0:
      return replaced(host, at, 1, formatted("%%%02x", static_cast<unsigned char>(c)));
    case 1:
      return c >= '0' && c <= '9' ? replaced(host, at, 1, wide_digits.at(static_cast<std::size_t>(c - '0')))
                                  : host;
    case 2:
      return c >= '0' && c <= '9'
                 ? replaced(host, at, 1, circled_digits.at(static_cast<std::size_t>(c - '0')))
                 : host;
    default:
      return c == '.' ? replaced(host, at, 1, "。") : host;
  }
}

std::string UrlGenerator::mutated(std::string text) {
  const std::size_t at = below(text.size());
  switch (below(3)) {
    case 0:
      return text.erase(at, 1 + below(3));
    case 1:
      return text.insert(at, pick(fragments));
    default:
      return text.replace(at, 1, pick(fragments));
  }
}

GeneratedUrl UrlGenerator::next() {
  const bool is_address = !one_in(4);
  const IpAddress chosen = address();
  std::string host = is_address ? spell(chosen) : name();
  if (one_in(2)) {
    const std::string text = "https://" + host + std::string(pick(endings));
    const bool usual = chosen.v6 || host == chosen.to_string() || host == chosen.to_string() + ".";
    return {text, is_address ? std::optional(chosen) : std::nullopt, usual};
  }
  if (one_in(3)) host = disguised(std::move(host));
  std::string text = (one_in(3) ? std::string(pick(prefixes)) : "https://") + host;
  text += one_in(3) ? pick(suffixes) : pick(endings);
  for (std::uint64_t times = below(3); times > 0; --times) text = mutated(std::move(text));
  return {text, std::nullopt, false};
}
