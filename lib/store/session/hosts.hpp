// The servers of database.hosts in turn, and what a session asks of one before it relies on it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/platform/config.hpp"

namespace store {

/// Begins with the first. One that works is stayed with, also when an earlier one is back: connections that
/// move only when they must do not flap, and the programs of one configuration meet on one node.
class Hosts {
 public:
  /// database.hosts, or database.socket when there are none.
  explicit Hosts(const platform::DatabaseSettings& settings);

  std::size_t size() const { return addresses_.size(); }
  bool several() const { return addresses_.size() > 1; }
  const std::string& current() const { return addresses_[current_]; }  ///< as the connector's address
  /// The current one is away: the one after it is next, and it comes last.
  void pass_on() { current_ = (current_ + 1) % addresses_.size(); }

 private:
  std::vector<std::string> addresses_;
  std::size_t current_ = 0;
};

/// Variables of a server by name, as SHOW VARIABLES gives those of `node_variables`.
using ServerVariables = std::map<std::string, std::string>;
inline constexpr const char* node_variables =
    "SHOW VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on', 'group_replication_consistency')";

/// Whether it takes no writes from programs: a replica, or a node of Group Replication that is not a primary.
bool is_read_only(const ServerVariables& variables);

/// The statement after which every read of a session sees what was committed before it, on whatever node of
/// its cluster: what a token's revocation, a listing after a registration, and results recorded after a
/// fail-over rely on. A node that is not part of its cluster's majority refuses such a read. Empty: the
/// server is no node of a cluster.
std::string causal_reads(const ServerVariables& variables);

}  // namespace store
