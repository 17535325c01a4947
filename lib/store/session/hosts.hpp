// The servers of database.hosts, and what a session checks before it uses one of them. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/config/config.hpp"

namespace store {

/// The servers in order, and the current one. Begins with the first server. Stays with a server that works,
/// even when a server earlier in the order works again, so that connections do not flap and the programs of
/// one configuration meet on one node.
class Hosts {
 public:
  /// Takes database.hosts or, if empty, database.socket.
  explicit Hosts(const config::DatabaseSettings& settings);

  std::size_t size() const { return addresses_.size(); }
  bool several() const { return addresses_.size() > 1; }
  const std::string& current() const { return addresses_[current_]; }  ///< as the connector's address
  /// Moves on to the next server. The current server, which is unusable, becomes the last to be tried.
  void pass_on() { current_ = (current_ + 1) % addresses_.size(); }

 private:
  std::vector<std::string> addresses_;
  std::size_t current_ = 0;
};

/// Variables of a server by name, from the statement `node_variables`.
using ServerVariables = std::map<std::string, std::string>;
inline constexpr const char* node_variables =
    "SHOW VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on', 'group_replication_consistency')";

/// Whether the server accepts no writes from programs: a replica, or a secondary of Group Replication.
bool is_read_only(const ServerVariables& variables);

/// Returns the statement after which each read of a session sees everything that any node of its cluster
/// committed before the read. A token's revocation, a listing after a registration, and results recorded
/// after a fail-over depend on this. A node outside its cluster's majority refuses such reads. Empty if the
/// server is not a node of a cluster.
std::string causal_reads(const ServerVariables& variables);

}  // namespace store
