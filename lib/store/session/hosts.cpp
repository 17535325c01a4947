#include "lib/store/session/hosts.hpp"

namespace store {

namespace {

/// Converts "host", "host:port" or "[v6]:port" to the connector's tcp:// address.
std::string tcp_address(const std::string& host, std::uint16_t default_port) {
  const bool has_port =
      host.find(':') != std::string::npos &&
      (host.front() == '[' ? host.find("]:") != std::string::npos : host.find(':') == host.rfind(':'));
  return "tcp://" + host + (has_port ? "" : ":" + std::to_string(default_port));
}

std::string value_of(const ServerVariables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

}  // namespace

Hosts::Hosts(const config::DatabaseSettings& settings) {
  for (const auto& host : settings.hosts) addresses_.push_back(tcp_address(host, settings.port));
  if (addresses_.empty()) addresses_.push_back("unix://" + settings.socket);
}

bool is_read_only(const ServerVariables& variables) {
  const auto value = value_of(variables, "read_only");
  return !value.empty() && value != "OFF" && value != "0";
}

std::string causal_reads(const ServerVariables& variables) {
  if (value_of(variables, "wsrep_on") == "ON") return "SET SESSION wsrep_sync_wait = 1";
  if (!value_of(variables, "group_replication_consistency").empty())
    return "SET SESSION group_replication_consistency = 'BEFORE'";
  return {};
}

}  // namespace store
