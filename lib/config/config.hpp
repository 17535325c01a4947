// The configuration: an INI file. The environment overrides the file, and the command line overrides both
// (docs/configuration.md).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"
#include "lib/platform/log.hpp"

namespace config {

/// what() is one line. For a value that is not accepted it names the key, the origin (file and line, variable
/// or command line) and what is accepted.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct DatabaseSettings {
  std::vector<std::string> hosts;  // "host" or "host:port" ("[v6]:port"), tried in order; empty: the socket
  std::string socket;              // the server's Unix socket
  std::uint16_t port = 3306;       // for hosts without their own port
  std::string name;                // of the database
  std::string user;                // the key's default is empty: each program then uses its own database user
  std::string password_file;       // empty: a credential, the program's own file, or no password
  std::string tls_ca;  // empty: no TLS; otherwise TLS is required and the server's name is verified
  unsigned evaluation_connections = 50;  // 1..100000
};

struct ApiSettings {
  unsigned threads = 16;  // 1..256
  std::string address;    // "https://api.example.org", without a path
};

struct SecretsSettings {
  std::string key_file;
};

/// `pattern=address` (docs/configuration.md#the-keys). The pattern is in lower case. It may begin with `*.`,
/// which stands for one or more labels.
struct HostOverride {
  std::string pattern;
  platform::IpAddress address;
};

/// `network` or `network@pattern`, the pattern as in HostOverride.
struct AllowedNetwork {
  platform::IpNetwork network;
  std::string pattern;  // hosts that may have an address in `network`; empty: those of host_overrides
};

/// Where our POSTs come from: an address of this host that sockets are bound to, or a network that is only
/// published to entities.
struct SourceAddress {
  platform::IpNetwork network;
  bool bound = false;
};

struct DeliverySettings {
  platform::Milliseconds poll_interval{50};
  unsigned max_in_flight = 512;
  unsigned max_in_flight_per_webhook = 10;
  unsigned max_in_flight_per_host = 50;
  platform::Milliseconds connect_timeout{5000};
  platform::Milliseconds timeout{15000};  // the whole attempt, DNS included
  platform::Milliseconds lease{60000};    // at least timeout + 10 s, or loading fails
  std::vector<platform::Milliseconds> retry_schedule;
  double retry_jitter = 0.2;  // 0..1: a wait is multiplied by a number in [1 - jitter, 1 + jitter]
  platform::Milliseconds retry_after_max{86400000};
  platform::Milliseconds probe_interval{900000};  // 0: no probes
  platform::Milliseconds outage_max{86400000};    // 0: no outage of our own is recognised
  std::vector<AllowedNetwork> allowed_networks;
  std::vector<platform::IpNetwork> denied_networks;
  std::vector<SourceAddress> source_addresses;  // if none is bound, the system chooses
  std::vector<platform::IpNetwork>
      own_addresses;  // not a key: addresses of this host and of the database, found by the dispatcher
  std::vector<HostOverride> host_overrides;
  std::vector<std::string> sandbox;  // patterns as in HostOverride; not empty: no other host is reached
  std::string ca_file;               // empty: the system's bundle
  platform::Milliseconds disable_after{432000000};        // 0: never
  std::uint64_t max_response = std::uint64_t{64} * 1024;  // bytes; for a response's headers, and for its body
};

struct RetentionSettings {
  platform::Milliseconds delivered{};
  platform::Milliseconds failed{};
  platform::Milliseconds rejected{};
  platform::Milliseconds held{};
  platform::Milliseconds audit{};
  platform::Milliseconds tests{};
};

/// 0 means no limit. The defaults of the keys replace these zeros. nginx enforces the first four limits,
/// which it gets from `apientidades-admin nginx limits`.
struct LimitSettings {
  unsigned requests_per_address = 0;             // a minute
  unsigned concurrent_requests_per_address = 0;  // at once
  unsigned requests_per_token = 0;               // a minute
  unsigned test_requests_per_token = 0;          // requests for a test event, a minute
  unsigned pending_test_deliveries = 0;          // of one entity, at once
  unsigned registrations = 0;                    // of one entity, an hour
  unsigned replayed = 0;                         // deliveries that one entity has replayed, in 24 h
  unsigned replay_requests = 0;                  // of one entity, an hour
  unsigned diagnostics = 0;                      // of one entity, an hour
  std::uint64_t test_bytes = 0;                  // of the test events of one entity, a day
  unsigned contact_codes = 0;                    // mails with a confirmation code for one entity, a day
};

/// How entities reach the operator; each is shown to them unless it is empty.
struct ContactSettings {
  std::string name;  // of the body that operates the service
  std::string email;
  std::string phone;
  std::string page;  // an https:// URL
};

/// Mails to the contacts of entities, and to the operator.
struct MailSettings {
  std::string server;            // "smtp://localhost:25" or "smtps://…"; empty: no mail is sent
  std::string from;              // an address; not empty if `server` is not
  std::string reply_to;          // an address; empty: none
  std::string user;              // for AUTH; empty: none
  std::string password_file;     // of `user`; empty: a credential, or no password
  std::string ca_file;           // empty: the system's bundle
  std::string operator_address;  // key mail.operator; empty: the operator gets no mail
};

struct MetricsSettings {
  std::string listen;    // "127.0.0.1:9464", "[::1]:9464": loopback only; empty: off
  std::string api_file;  // file with the counters that all API processes share; empty: the default place,
                         // which the key's description in config_keys() names
  platform::Milliseconds queue_interval{15000};
};

struct LogSettings {
  platform::LogLevel level = platform::LogLevel::info;
};

struct Settings {
  DatabaseSettings database;
  ApiSettings api;
  SecretsSettings secrets;
  DeliverySettings delivery;
  RetentionSettings retention;
  LimitSettings limits;
  ContactSettings contact;
  MailSettings mail;
  MetricsSettings metrics;
  LogSettings log;
};

/// A key as `--help` and the table of docs/configuration.md show it.
struct KeyDoc {
  std::string name;           // "delivery.poll_interval"
  std::string default_value;  // in the configuration's spelling
  std::string accepts;        // kind, unit and range: "duration, 10ms to 1m"
  std::string description;
};
const std::vector<KeyDoc>& config_keys();

/// A key with its present value, for `config show`. `source` is "default", "environment", "command line",
/// "systemd credential", or the file's path and line ("/etc/x.conf:3").
struct KeyValue {
  std::string name;
  std::string value;
  std::string source;
};

struct Config {
  std::string file;  // its path, also if it does not exist
  Settings settings;
  std::vector<KeyValue> values;  // every key, in the order of config_keys()
};

inline constexpr std::string_view default_config_path = "/etc/apientidades/apientidades.conf";

/// `file`: the file of --config, which must exist; unset: default_config_path, which is read if it exists.
/// `arguments`: `--section.key=value` (or two words) of the command line, nothing else.
/// `environment`: texts NAME=VALUE. Names without the prefix APIENTIDADES_ are ignored. A name with the
/// prefix must name a key: APIENTIDADES_<SECTION>_<KEY>. Throws ConfigError.
Config load_config(const std::vector<std::string>& arguments, const std::optional<std::string>& file,
                   const std::vector<std::string>& environment);

/// Reads the file that a key names. Throws ConfigError, which names the key, when the file cannot be read.
std::string read_configured_file(std::string_view key, const std::string& path);

/// As require_private. Throws ConfigError, which names the key.
void require_private_file(std::string_view key, const std::string& path);

/// Checks that the file holds certificates in PEM. Throws ConfigError, which names the key.
void require_certificates(std::string_view key, const std::string& path);

}  // namespace config
