#include "lib/config/keys.hpp"

#include <utility>

#include "lib/config/values.hpp"

namespace config {

namespace {

using namespace std::chrono_literals;
using Text = const std::string&;

constexpr platform::Milliseconds year = std::chrono::days(366);

std::vector<ConfigKey> database_keys() {
  return {
      {{"database.hosts", "", "host, host:port or [IPv6]:port, comma-separated",
        "database servers, tried in turn over TCP; empty: database.socket"},
       [](Settings& s, Text t) { s.database.hosts = read_hosts(t); }},
      {{"database.socket", "/run/mysqld/mysqld.sock", "absolute path",
        "unix socket of the database, when database.hosts is empty"},
       [](Settings& s, Text t) { s.database.socket = read_path(t); }},
      {{"database.port", "3306", "1 to 65535", "port of the hosts that name none"},
       [](Settings& s, Text t) { s.database.port = static_cast<std::uint16_t>(read_number(t, 1, 65535)); }},
      {{"database.name", "apientidades", "name of letters, digits, _ $ . -, at most 64",
        "name of the database"},
       [](Settings& s, Text t) { s.database.name = read_identifier(t); }},
      {{"database.user", "", "name of letters, digits, _ $ . -, at most 64, or empty",
        "user of the database; empty: apientidades_api, apientidades_dispatcher or apientidades_admin, by "
        "program"},
       [](Settings& s, Text t) { s.database.user = t.empty() ? t : read_identifier(t); }},
      {{"database.password_file", "", "absolute path or empty",
        "file with that user's password; empty: systemd's credential, "
        "/etc/apientidades/{api,dispatcher,admin}.password, or none"},
       [](Settings& s, Text t) { s.database.password_file = t.empty() ? t : read_path(t); }},
      {{"database.tls_ca", "", "absolute path or empty",
        "CA that signed the server's certificate; if set, a connection without verified TLS is an error"},
       [](Settings& s, Text t) { s.database.tls_ca = t.empty() ? t : read_path(t); }},
      {{"database.evaluation_connections", "50", "1 to 100000",
        "connections that each user of the evaluation system may hold; apientidades-setup-database sets this "
        "limit"},
       [](Settings& s, Text t) {
         s.database.evaluation_connections = static_cast<unsigned>(read_number(t, 1, 100000));
       }},
  };
}

std::vector<ConfigKey> service_keys() {
  return {
      {{"api.threads", "16", "1 to 256",
        "worker threads of each FastCGI process, each with a database session; a further session looks up "
        "callers"},
       [](Settings& s, Text t) { s.api.threads = static_cast<unsigned>(read_number(t, 1, 256)); }},
      {{"api.address", "", "https:// URL without a path (https://api.example.org), or empty",
        "where entities reach the API, as the documentation's examples name it; empty: an example's name"},
       [](Settings& s, Text t) { s.api.address = t.empty() ? t : read_origin(t); }},
      {{"secrets.key_file", "/etc/apientidades/secrets.keys", "absolute path",
        "keys that seal the webhooks' secrets: lines id:base64 of 32 bytes, the first is current"},
       [](Settings& s, Text t) { s.secrets.key_file = read_path(t); }},
  };
}

std::vector<ConfigKey> delivery_keys() {
  return {
      {{"delivery.poll_interval", "50ms", "duration, 1ms to 1m",
        "pause between looks at the queue; an eighth of this after a notification, twice this after 5 s "
        "without any"},
       [](Settings& s, Text t) { s.delivery.poll_interval = read_duration(t, 1ms, 1min); }},
      {{"delivery.max_in_flight", "512", "1 to 10000", "attempts in flight in one dispatcher"},
       [](Settings& s, Text t) {
         s.delivery.max_in_flight = static_cast<unsigned>(read_number(t, 1, 10000));
       }},
      {{"delivery.max_in_flight_per_webhook", "10", "1 to 1000", "attempts in flight to one webhook"},
       [](Settings& s, Text t) {
         s.delivery.max_in_flight_per_webhook = static_cast<unsigned>(read_number(t, 1, 1000));
       }},
      {{"delivery.max_in_flight_per_host", "50", "1 to 10000",
        "attempts in flight to one host and port, for all webhooks together; at most half of them for one "
        "entity"},
       [](Settings& s, Text t) {
         s.delivery.max_in_flight_per_host = static_cast<unsigned>(read_number(t, 1, 10000));
       }},
      {{"delivery.connect_timeout", "5s", "duration, 100ms to 5m",
        "limit of resolution, connection and TLS handshake; at most delivery.timeout"},
       [](Settings& s, Text t) { s.delivery.connect_timeout = read_duration(t, 100ms, 5min); }},
      {{"delivery.timeout", "15s", "duration, 100ms to 5m", "limit of the whole attempt, DNS included"},
       [](Settings& s, Text t) { s.delivery.timeout = read_duration(t, 100ms, 5min); }},
      {{"delivery.lease", "60s", "duration, 10s to 1h",
        "how long a dispatcher that dies keeps its deliveries from the others; at least delivery.timeout + "
        "10s"},
       [](Settings& s, Text t) { s.delivery.lease = read_duration(t, 10s, 1h); }},
      {{"delivery.retry_schedule", "5s,5m,30m,2h,5h,10h,14h,20h,24h",
        "1 to 50 durations of 1ms to 30d, comma-separated",
        "waits before the first, second, … retry; after the last the delivery is fallida"},
       [](Settings& s, Text t) { s.delivery.retry_schedule = read_durations(t); }},
      {{"delivery.retry_jitter", "0.2", "0 to 1",
        "a wait is multiplied by a random number between 1 - jitter and 1 + jitter"},
       [](Settings& s, Text t) { s.delivery.retry_jitter = read_fraction(t); }},
      {{"delivery.retry_after_max", "24h", "duration, 0s to 30d",
        "a longer Retry-After of a receiver counts as this"},
       [](Settings& s, Text t) {
         s.delivery.retry_after_max = read_duration(t, 0ms, std::chrono::days(30));
       }},
      {{"delivery.probe_interval", "15m", "duration, 0s to 30d",
        "how often one waiting delivery of a failing webhook is tried ahead of its schedule; 0s: never"},
       [](Settings& s, Text t) { s.delivery.probe_interval = read_duration(t, 0ms, std::chrono::days(30)); }},
      {{"delivery.outage_max", "24h", "duration, 0s to 30d",
        "how long an outage of our own may last before what fails counts as a failure again; 0s: none is "
        "recognised"},
       [](Settings& s, Text t) { s.delivery.outage_max = read_duration(t, 0ms, std::chrono::days(30)); }},
      {{"delivery.allowed_networks", "", "network or network@pattern, comma-separated",
        "non-public addresses to dial: 10.0.0.0/8 for delivery.host_overrides alone, "
        "10.0.0.0/8@*.example.org for such names"},
       [](Settings& s, Text t) { s.delivery.allowed_networks = read_allowed_networks(t); }},
      {{"delivery.denied_networks", "", "networks (203.0.113.0/24), comma-separated",
        "addresses that are never dialled, even if public or allowed: your own network's"},
       [](Settings& s, Text t) { s.delivery.denied_networks = read_networks(t); }},
      {{"delivery.source_addresses", "",
        "addresses of this host, or networks (203.0.113.7/32), comma-separated",
        "addresses that POSTs are sent from, and that entities see; networks are only shown; empty: "
        "entities see none"},
       [](Settings& s, Text t) { s.delivery.source_addresses = read_source_addresses(t); }},
      {{"delivery.host_overrides", "", "pattern=address, comma-separated",
        "address dialled for a host name, by the first pattern (name or *.name) that matches; never for an "
        "IP or localhost"},
       [](Settings& s, Text t) { s.delivery.host_overrides = read_overrides(t); }},
      {{"delivery.sandbox", "", "host names (name or *.name), comma-separated, or empty",
        "for tests: only these hosts are reached, and deliveries to any other end as entregada without being "
        "sent, and no notice is mailed; empty: all are sent"},
       [](Settings& s, Text t) { s.delivery.sandbox = read_patterns(t); }},
      {{"delivery.ca_file", "", "absolute path or empty",
        "certificate authorities of the receivers; empty: the system's"},
       [](Settings& s, Text t) { s.delivery.ca_file = t.empty() ? t : read_path(t); }},
      {{"delivery.disable_after", "5d", "duration, 0s to 366d",
        "a webhook with nothing but failures, 10 or more, for this long is deactivated; 0s: never"},
       [](Settings& s, Text t) { s.delivery.disable_after = read_duration(t, 0ms, year); }},
      {{"delivery.max_response", "64KiB", "size, 1KiB to 16MiB",
        "bytes read of a response's headers, and of its body"},
       [](Settings& s, Text t) { s.delivery.max_response = read_size(t, 1024, std::uint64_t{16} << 20); }},
  };
}

std::vector<ConfigKey> retention_keys() {
  const std::string accepts = "duration, 1m to 3660d";
  const auto read = [](Text t) { return read_duration(t, 1min, std::chrono::days(3660)); };
  return {
      {{"retention.delivered", "30d", accepts,
        "how long delivered and cancelled deliveries, and deleted webhooks, are kept"},
       [read](Settings& s, Text t) { s.retention.delivered = read(t); }},
      {{"retention.failed", "90d", accepts,
        "how long deliveries that failed for good are kept, and with them the others of their notifications"},
       [read](Settings& s, Text t) { s.retention.failed = read(t); }},
      {{"retention.rejected", "90d", accepts, "how long rejected notifications are kept"},
       [read](Settings& s, Text t) { s.retention.rejected = read(t); }},
      {{"retention.held", "90d", accepts, "how long a due delivery may be held before it is fallida"},
       [read](Settings& s, Text t) { s.retention.held = read(t); }},
      {{"retention.audit", "90d", accepts, "how long the audit of changes by entities and operators is kept"},
       [read](Settings& s, Text t) { s.retention.audit = read(t); }},
      {{"retention.tests", "2d", accepts,
        "how long test notifications and their deliveries are kept, whatever became of them"},
       [read](Settings& s, Text t) { s.retention.tests = read(t); }},
  };
}

using Limit = unsigned LimitSettings::*;

ConfigKey limit_key(const std::string& name, const std::string& default_value, const std::string& description,
                    Limit limit) {
  constexpr unsigned most = 1000000;
  return {{"limits." + name, default_value, "0 to 1000000", description + "; 0: no limit"},
          [limit](Settings& s, Text t) { s.limits.*limit = static_cast<unsigned>(read_number(t, 0, most)); }};
}

std::vector<ConfigKey> limit_keys() {
  return {
      limit_key("requests_per_address", "1800",
                "requests a minute from one address (IPv6: one /64), all of which may come at once",
                &LimitSettings::requests_per_address),
      limit_key("concurrent_requests_per_address", "100",
                "requests of one address (IPv6: one /64) that may be in course at once",
                &LimitSettings::concurrent_requests_per_address),
      limit_key("requests_per_token", "600",
                "requests a minute with one token, all of which may come at once",
                &LimitSettings::requests_per_token),
      limit_key("test_requests_per_token", "30",
                "test events (POST /webhooks/test and /webhooks/{id}/prueba) a minute with one token, all "
                "of which may come at once",
                &LimitSettings::test_requests_per_token),
      limit_key(
          "pending_test_deliveries", "50",
          "test deliveries of one entity that have not ended; a test event that would exceed it is refused",
          &LimitSettings::pending_test_deliveries),
      limit_key(
          "registrations", "60",
          "registrations and changes of webhooks, also deleted ones, and changes of the contacts, by one "
          "entity in an hour; all may come at once",
          &LimitSettings::registrations),
      limit_key("replayed", "10000", "deliveries that one entity may ask to be replayed in any 24 hours",
                &LimitSettings::replayed),
      limit_key("replay_requests", "60",
                "replays of a range, and simulations of one, that one entity may ask for in an hour; all may "
                "come at once",
                &LimitSettings::replay_requests),
      limit_key("diagnostics", "6",
                "diagnoses of its receivers that one entity may ask for in an hour; all may come at once",
                &LimitSettings::diagnostics),
      {{"limits.test_bytes", "64MiB", "size, 0 to 1048576MiB",
        "what the test events of one entity may store in a day; all of it may come at once; 0: no limit"},
       [](Settings& s, Text t) { s.limits.test_bytes = read_size(t, 0, std::uint64_t{1} << 40); }},
      limit_key("contact_codes", "5",
                "mails with a confirmation code that one entity may cause in a day; all may come at once",
                &LimitSettings::contact_codes),
  };
}

std::vector<ConfigKey> contact_keys() {
  const std::string shown =
      "how entities reach the operator, as GET /entidad, the portal and the public documentation show it: ";
  return {
      {{"contact.name", "", "text, at most 200 bytes, or empty",
        "the body that operates the service, as the documentation names it"},
       [](Settings& s, Text t) { s.contact.name = read_title(t); }},
      {{"contact.email", "", "address (soporte@example.org), at most 254 characters, or empty",
        shown + "by e-mail"},
       [](Settings& s, Text t) { s.contact.email = t.empty() ? t : read_email(t); }},
      {{"contact.phone", "", "digits, blanks and + ( ) . -, at most 40 characters, or empty",
        shown + "by telephone"},
       [](Settings& s, Text t) { s.contact.phone = t.empty() ? t : read_phone(t); }},
      {{"contact.page", "", "https:// URL without blanks, at most 2000 characters, or empty",
        shown + "a page of yours"},
       [](Settings& s, Text t) { s.contact.page = t.empty() ? t : read_page(t); }},
  };
}

std::vector<ConfigKey> mail_keys() {
  const std::string address = "address (avisos@example.org), at most 254 characters, or empty";
  const auto read = [](Text t) { return t.empty() ? t : read_email(t); };
  return {
      {{"mail.server", "", "smtp:// or smtps:// URL of host or host:port, or empty",
        "mail server for the notices to entities; empty: no mail is sent"},
       [](Settings& s, Text t) { s.mail.server = t.empty() ? t : read_mail_server(t); }},
      {{"mail.from", "", address, "sender of every mail; required with mail.server"},
       [read](Settings& s, Text t) { s.mail.from = read(t); }},
      {{"mail.reply_to", "", address, "where answers to a mail go; empty: to mail.from"},
       [read](Settings& s, Text t) { s.mail.reply_to = read(t); }},
      {{"mail.user", "", "visible ASCII characters, at most 254, or empty",
        "user for the mail server; empty: none is named"},
       [](Settings& s, Text t) { s.mail.user = read_mail_user(t); }},
      {{"mail.password_file", "", "absolute path or empty", "file with the password of mail.user"},
       [](Settings& s, Text t) { s.mail.password_file = t.empty() ? t : read_path(t); }},
      {{"mail.ca_file", "", "absolute path or empty",
        "authorities in PEM that the mail server's certificate must come from; empty: those of the system"},
       [](Settings& s, Text t) { s.mail.ca_file = t.empty() ? t : read_path(t); }},
      {{"mail.operator", "", address, "the operator's address for a digest; empty: none is sent"},
       [read](Settings& s, Text t) { s.mail.operator_address = read(t); }},
  };
}

std::vector<ConfigKey> metrics_keys() {
  return {
      {{"metrics.listen", "", "loopback address and port, 127.0.0.1:9464 or [::1]:9464, or empty",
        "where the dispatcher answers GET /metrics for Prometheus; empty: nowhere"},
       [](Settings& s, Text t) { s.metrics.listen = t.empty() ? t : read_loopback_listener(t); }},
      {{"metrics.api_file", "", "absolute path or empty",
        "file in which all API processes count; empty: systemd's RuntimeDirectory/metrics, else each counts "
        "alone"},
       [](Settings& s, Text t) { s.metrics.api_file = t.empty() ? t : read_path(t); }},
      {{"metrics.queue_interval", "15s", "duration, 100ms to 1h",
        "pause between the dispatcher's looks at the depth of the queue; at least 50 times what a look "
        "takes"},
       [](Settings& s, Text t) { s.metrics.queue_interval = read_duration(t, 100ms, 1h); }},
  };
}

std::vector<ConfigKey> log_keys() {
  return {
      {{"log.level", "info", "debug, info, warning, error", "the least important messages that are logged"},
       [](Settings& s, Text t) { s.log.level = read_log_level(t); }},
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> all;
  for (auto&& group : {database_keys(), service_keys(), delivery_keys(), retention_keys(), limit_keys(),
                       contact_keys(), mail_keys(), metrics_keys(), log_keys()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

const std::vector<ConfigKey>& config_table() {
  static const std::vector<ConfigKey> table = all_keys();
  return table;
}

const std::vector<KeyDoc>& config_keys() {
  static const std::vector<KeyDoc> docs = [] {
    std::vector<KeyDoc> result;
    for (const auto& key : config_table()) result.push_back(key.doc);
    return result;
  }();
  return docs;
}

}  // namespace config
