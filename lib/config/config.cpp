#include "lib/config/config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "lib/config/keys.hpp"
#include "lib/config/sources.hpp"
#include "lib/platform/file.hpp"
#include "lib/platform/ip.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/text/text.hpp"

namespace config {

namespace {

/// What a key accepts, with the units of a number that needs one.
std::string expected(const std::string& accepts) {
  if (accepts.find("duration") != std::string::npos) return accepts + " (units: ms, s, m, h, d)";
  if (accepts.starts_with("network ")) return accepts + " (10.0.0.0/8)";
  if (accepts.starts_with("size")) return accepts + " (units: KiB, MiB; none: bytes)";
  return accepts;
}

void apply(Config& config, const ConfigKey& key, const GivenValues& given) {
  const auto& name = key.doc.name;
  const auto found = given.find(name);
  const auto value =
      found == given.end() ? GivenValue{key.doc.default_value, "default", "default"} : found->second;
  try {
    key.read(config.settings, value.text);
  } catch (const std::invalid_argument&) {
    throw_config_error(value.place + ": " + name + " = " + text::in_quotes(value.text) +
                       " is not accepted; expected: " + expected(key.doc.accepts));
  }
  config.values.push_back({name, value.text, value.source});
}

KeyValue& value_of(Config& config, std::string_view name) {
  return *std::ranges::find(config.values, name, &KeyValue::name);
}

/// A systemd credential replaces the default path of the key file.
void apply_credentials(Config& config, const GivenValues& given) {
  if (given.contains("secrets.key_file")) return;
  const auto path = platform::credential_path("secrets.keys");
  if (!path) return;
  config.settings.secrets.key_file = *path;
  value_of(config, "secrets.key_file") = {"secrets.key_file", *path, "systemd credential"};
}

/// The key as messages show it: `delivery.lease = 20s (environment)`.
std::string shown(Config& config, std::string_view name) {
  const auto& [key, value, source] = value_of(config, name);
  return key + " = " + value + " (" + source + ")";
}

/// `host` is an element of database.hosts, with or without a port.
bool is_loopback_address(std::string_view host) {
  return std::ranges::any_of(std::array<std::string_view, 2>{"127.0.0.1", "[::1]"},
                             [host](std::string_view address) {
                               return host == address || host.starts_with(std::string(address) + ":");
                             });
}

/// From version 3.4 on (Debian 13), libmariadb does not compare a certificate's names with 127.0.0.1 or ::1,
/// although a tunnel to another machine may listen on that address. It compares every other name and address.
void require_verifiable_hosts(Config& config) {
  const auto& database = config.settings.database;
  if (!database.tls_ca.empty() && std::ranges::any_of(database.hosts, is_loopback_address))
    throw_config_error(
        shown(config, "database.hosts") +
        " must name the server as its certificate does, so that database.tls_ca can verify it: not "
        "127.0.0.1 or [::1], but for example localhost or a name in /etc/hosts");
}

/// Whether an element of database.hosts (`host`, `host:port` or `[v6]:port`) is this machine's loopback.
bool is_on_this_machine(std::string_view host) {
  if (is_loopback_address(host)) return true;
  const auto name = host.substr(0, host.find(':'));
  return name == "localhost" || (name.starts_with("127.") && platform::IpAddress::parse(name));
}

/// Refuses remote servers without TLS before anything is sent. The server chooses how the client must prove
/// that it knows the password, so an impostor of the server could choose the weakest way.
void require_tls_to_others(Config& config) {
  const auto& database = config.settings.database;
  if (database.tls_ca.empty() && !std::ranges::all_of(database.hosts, is_on_this_machine))
    throw_config_error(
        shown(config, "database.hosts") +
        " names another machine: set database.tls_ca, the authority of its certificate, so that no "
        "password crosses the network without TLS");
}

void check_together(Config& config) {
  require_verifiable_hosts(config);
  require_tls_to_others(config);
  constexpr platform::Milliseconds margin{10000};
  const auto& delivery = config.settings.delivery;
  if (delivery.lease < delivery.timeout + margin)
    throw_config_error(shown(config, "delivery.lease") + " must be at least 10s longer than " +
                       shown(config, "delivery.timeout"));
  if (!config.settings.mail.server.empty() && config.settings.mail.from.empty())
    throw_config_error(shown(config, "mail.server") + " needs mail.from, the sender of the mails");
  if (delivery.connect_timeout > delivery.timeout)
    throw_config_error(shown(config, "delivery.connect_timeout") + " must be at most " +
                       shown(config, "delivery.timeout"));
}

/// Whether the file certainly does not exist. A file that cannot be examined counts as present, so that
/// the attempt to read it reports the error.
bool is_absent(const std::string& path) {
  std::error_code unknown;
  return !std::filesystem::exists(path, unknown) && !unknown;
}

/// The files of the folder beside the file, in the order of their names: FILE.d/*.conf.
std::vector<std::string> files_beside(const std::string& path) {
  std::vector<std::string> files;
  const std::string folder = path + ".d";
  if (is_absent(folder)) return files;
  std::error_code error;
  for (auto next = std::filesystem::directory_iterator(folder, error); !error && next != end(next);
       next.increment(error))
    if (next->path().extension() == ".conf" && !next->path().filename().string().starts_with('.'))
      files.push_back(next->path());
  if (error) throw_config_error("configuration folder " + folder + ": " + error.message());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Config load_config(const std::vector<std::string>& arguments, const std::optional<std::string>& file,
                   const std::vector<std::string>& environment) {
  GivenValues given;
  const std::string path = file.value_or(std::string(default_config_path));
  if (file || !is_absent(path)) read_config_file(path, given);
  for (const auto& more : files_beside(path)) read_config_file(more, given);
  read_environment(environment, given);
  read_arguments(arguments, given);
  Config config;
  config.file = path;
  for (const auto& key : config_table()) apply(config, key, given);
  apply_credentials(config, given);
  check_together(config);
  return config;
}

std::string read_configured_file(std::string_view key, const std::string& path) try {
  return platform::read_file(path);
} catch (const platform::FileError& error) {
  throw ConfigError(std::string(key) + ": " + error.what());
}

void require_private_file(std::string_view key, const std::string& path) try {
  platform::require_private(path);
} catch (const platform::FileError& error) {
  throw ConfigError(std::string(key) + ": " + error.what());
}

void require_certificates(std::string_view key, const std::string& path) {
  if (read_configured_file(key, path).find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    throw ConfigError(std::string(key) + ": " + path + ": no PEM certificate in it");
  }
}

}  // namespace config
