#include "lib/config/values.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "lib/text/email_address.hpp"
#include "lib/text/text.hpp"

namespace config {

namespace {

[[noreturn]] void refuse() { throw std::invalid_argument("not accepted"); }

bool is_label_character(char c) { return text::is_letter(c) || text::is_digit(c) || c == '-' || c == '_'; }

bool is_visible(char c) { return c > ' ' && c <= '~'; }

bool is_host_name(std::string_view name) {
  while (true) {
    const auto dot = name.find('.');
    const auto label = name.substr(0, dot);
    if (label.empty() || label.size() > 63 || !std::ranges::all_of(label, is_label_character)) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

/// Accepts `name`, `10.0.0.5` and `[fd00::5]`, each with or without `:port`.
bool is_host_and_port(const std::string& text) {
  const auto colon = text.starts_with('[') ? text.find(']') + 1 : std::min(text.find(':'), text.size());
  const auto host = text.substr(0, colon);
  const auto port = text.substr(colon);
  if (!port.empty()) {
    if (port.front() != ':') return false;
    read_number(port.substr(1), 1, 65535);
  }
  if (!host.starts_with('[')) return is_host_name(host);
  const auto address = platform::IpAddress::parse(std::string_view(host).substr(1, host.size() - 2));
  return address && address->v6;
}

/// False for multicast, broadcast, and IPv4 written as IPv6: no connection comes from there. Linux binds a
/// socket to such an address all the same.
bool can_be_source(const platform::IpAddress& address) {
  static const std::array never{platform::IpNetwork::parse("224.0.0.0/4").value(),
                                platform::IpNetwork::parse("255.255.255.255").value(),
                                platform::IpNetwork::parse("ff00::/8").value(),
                                platform::IpNetwork::parse("::ffff:0:0/96").value()};
  return std::ranges::none_of(never,
                              [&](const platform::IpNetwork& network) { return network.contains(address); });
}

/// Accepts a name, with or without `*.` before it. Refuses an address (its last label has no letter, or
/// begins with 0x), localhost and names under localhost. `pattern` is in lower case.
bool is_pattern(std::string_view pattern) {
  const auto name = pattern.starts_with("*.") ? pattern.substr(2) : pattern;
  const auto last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  const bool has_letter = std::ranges::any_of(last, text::is_letter);
  return is_host_name(name) && has_letter && !last.starts_with("0x") && last != "localhost";
}

}  // namespace

std::uint64_t read_number(const std::string& text, std::uint64_t least, std::uint64_t most) {
  const auto value = text::parse_number<std::uint64_t>(text);
  if (!value || *value < least || *value > most) refuse();
  return *value;
}

std::uint64_t read_size(const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t unit = 1;
  std::string digits = text;
  for (const auto& [suffix, bytes] :
       {std::pair<std::string, std::uint64_t>{"KiB", 1024}, {"MiB", 1024 * 1024}}) {
    if (!text.ends_with(suffix)) continue;
    unit = bytes;
    digits.resize(text.size() - suffix.size());
  }
  const auto value = read_number(digits, 0, std::numeric_limits<std::uint64_t>::max() / unit) * unit;
  if (value < least || value > most) refuse();
  return value;
}

double read_fraction(const std::string& text) {
  const auto value = text::parse_number<double>(text);
  if (!value || !(*value >= 0 && *value <= 1)) refuse();  // written this way to refuse NaN
  return *value;
}

platform::Milliseconds read_duration(const std::string& text, platform::Milliseconds least,
                                     platform::Milliseconds most) {
  const auto value = platform::parse_duration(text);
  if (!value || *value < least || *value > most) refuse();
  return *value;
}

std::vector<platform::Milliseconds> read_durations(const std::string& text) {
  std::vector<platform::Milliseconds> result;
  for (const auto& item : read_list(text))
    result.push_back(read_duration(item, platform::Milliseconds(1), std::chrono::days(30)));
  if (result.empty() || result.size() > 50) refuse();
  return result;
}

platform::LogLevel read_log_level(const std::string& text) {
  if (text == "debug") return platform::LogLevel::debug;
  if (text == "info") return platform::LogLevel::info;
  if (text == "warning") return platform::LogLevel::warning;
  if (text == "error") return platform::LogLevel::error;
  refuse();
}

std::string read_path(const std::string& text) {
  if (!text.starts_with('/') || text::one_line(text) != text) refuse();
  return text;
}

std::string read_identifier(const std::string& text) {
  const auto allowed = [](char c) { return is_label_character(c) || c == '$' || c == '.'; };
  if (text.empty() || text.size() > 64 || text.front() == '-' || !std::ranges::all_of(text, allowed))
    refuse();
  return text;
}

std::string read_email(const std::string& text) {
  if (!text::is_email_address(text)) refuse();
  return text;
}

std::string read_mail_server(const std::string& text) {
  for (const std::string_view scheme : {"smtp://", "smtps://"})
    if (text.starts_with(scheme) && is_host_and_port(text.substr(scheme.size()))) return text;
  refuse();
}

std::string read_mail_user(const std::string& text) {
  constexpr std::size_t longest = 254;
  if (text.size() > longest || !std::ranges::all_of(text, is_visible)) refuse();
  return text;
}

std::string read_phone(const std::string& text) {
  constexpr std::size_t longest = 40;
  const auto allowed = [](char c) {
    return text::is_digit(c) || std::string_view(" +().-").find(c) != std::string_view::npos;
  };
  if (text.size() > longest || !std::ranges::any_of(text, text::is_digit) ||
      !std::ranges::all_of(text, allowed))
    refuse();
  return text;
}

std::string read_page(const std::string& text) {
  constexpr std::size_t longest = 2000;
  constexpr std::string_view scheme = "https://";
  const auto allowed = [](char c) {
    return is_visible(c) && std::string_view("\"<>\\").find(c) == std::string_view::npos;
  };
  if (!text.starts_with(scheme) || text.size() > longest || !std::ranges::all_of(text, allowed)) refuse();
  const auto rest = text.substr(scheme.size());
  if (!is_host_and_port(rest.substr(0, rest.find_first_of("/?#")))) refuse();
  return text;
}

std::string read_origin(const std::string& text) {
  constexpr std::string_view scheme = "https://";
  if (!text.starts_with(scheme) || text.find_first_of("/?#", scheme.size()) != std::string::npos) refuse();
  return read_page(text);
}

std::string read_title(const std::string& text) {
  constexpr std::size_t longest = 200;
  // one_line changes what is not seen, reorders text or is not UTF-8.
  if (text.size() > longest || text::one_line(text) != text) refuse();
  return text;
}

std::vector<std::string> read_list(const std::string& text) {
  std::vector<std::string> result;
  std::string_view rest = text;
  if (text::trim(rest).empty()) return result;
  while (true) {
    const auto comma = rest.find(',');
    const auto item = text::trim(rest.substr(0, comma));
    if (item.empty()) refuse();
    result.emplace_back(item);
    if (comma == std::string_view::npos) return result;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<std::string> read_hosts(const std::string& text) {
  auto hosts = read_list(text);
  if (!std::ranges::all_of(hosts, is_host_and_port)) refuse();
  return hosts;
}

std::string read_loopback_listener(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || !is_host_and_port(text)) refuse();
  std::string_view host = std::string_view(text).substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto address = platform::IpAddress::parse(host);
  static const std::array loopback{platform::IpNetwork::parse("127.0.0.0/8").value(),
                                   platform::IpNetwork::parse("::1").value()};
  const auto contains = [&](const platform::IpNetwork& network) { return network.contains(*address); };
  if (!address || !std::ranges::any_of(loopback, contains)) refuse();
  return text;
}

std::vector<platform::IpNetwork> read_networks(const std::string& text) {
  std::vector<platform::IpNetwork> result;
  for (const auto& item : read_list(text)) {
    const auto network = platform::IpNetwork::parse(item);
    if (!network) refuse();
    result.push_back(*network);
  }
  return result;
}

/// Sockets are bound only to an address without a prefix. An address with one (even /32) is a network that is
/// only shown to entities.
std::vector<SourceAddress> read_source_addresses(const std::string& text) {
  std::vector<SourceAddress> result;
  for (const auto& item : read_list(text)) {
    const auto network = platform::IpNetwork::parse(item);
    if (!network || network->base == platform::IpAddress{network->base.v6, {}} ||
        !can_be_source(network->base))
      refuse();
    result.push_back({*network, item.find('/') == std::string::npos});
  }
  return result;
}

std::vector<AllowedNetwork> read_allowed_networks(const std::string& text) {
  std::vector<AllowedNetwork> result;
  for (const auto& item : read_list(text)) {
    const auto at = std::min(item.find('@'), item.size());
    const auto network = platform::IpNetwork::parse(text::trim(std::string_view(item).substr(0, at)));
    const auto pattern =
        at == item.size() ? "" : text::lower(text::trim(std::string_view(item).substr(at + 1)));
    if (!network || (at < item.size() && !is_pattern(pattern))) refuse();
    result.push_back({*network, pattern});
  }
  return result;
}

std::vector<std::string> read_patterns(const std::string& text) {
  std::vector<std::string> result;
  for (const auto& item : read_list(text)) {
    result.push_back(text::lower(item));
    if (!is_pattern(result.back())) refuse();
  }
  return result;
}

std::vector<HostOverride> read_overrides(const std::string& text) {
  std::vector<HostOverride> result;
  for (const auto& item : read_list(text)) {
    const auto equals = item.find('=');
    if (equals == std::string::npos) refuse();
    const auto pattern = text::lower(text::trim(std::string_view(item).substr(0, equals)));
    const auto address = platform::IpAddress::parse(text::trim(std::string_view(item).substr(equals + 1)));
    if (!address || !is_pattern(pattern)) refuse();
    result.push_back({pattern, *address});
  }
  return result;
}

}  // namespace config
