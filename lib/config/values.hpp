// Reads values in the configuration's spelling. Internal to the library; all functions throw
// std::invalid_argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/config/config.hpp"

namespace config {

std::uint64_t read_number(const std::string& text, std::uint64_t least, std::uint64_t most);
/// Reads `65536`, `64KiB`, `1MiB`.
std::uint64_t read_size(const std::string& text, std::uint64_t least, std::uint64_t most);
double read_fraction(const std::string& text);  // 0 to 1
platform::Milliseconds read_duration(const std::string& text, platform::Milliseconds least,
                                     platform::Milliseconds most);
std::vector<platform::Milliseconds> read_durations(const std::string& text);
platform::LogLevel read_log_level(const std::string& text);
std::string read_path(const std::string& text);         // absolute
std::string read_identifier(const std::string& text);   // name of a database or a user
std::string read_email(const std::string& text);        // text::is_email_address
std::string read_mail_server(const std::string& text);  // smtp:// or smtps://, a host, and a port or none
std::string read_mail_user(const std::string& text);    // visible ASCII characters
std::string read_phone(const std::string& text);        // as people write it
std::string read_page(const std::string& text);         // https:// and a host
std::string read_origin(const std::string& text);       // https:// and a host, without a path
std::string read_title(const std::string& text);        // a name as people write it
std::vector<std::string> read_list(const std::string& text);  // comma-separated, trimmed; no empty elements
std::vector<std::string> read_hosts(const std::string& text);
std::string read_loopback_listener(const std::string& text);  // address:port
std::vector<platform::IpNetwork> read_networks(const std::string& text);
std::vector<SourceAddress> read_source_addresses(const std::string& text);
std::vector<AllowedNetwork> read_allowed_networks(const std::string& text);
std::vector<HostOverride> read_overrides(const std::string& text);
std::vector<std::string> read_patterns(const std::string& text);

}  // namespace config
