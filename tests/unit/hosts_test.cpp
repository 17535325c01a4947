#include "lib/store/session/hosts.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(hosts)

namespace {

store::Hosts hosts_of(const std::vector<std::string>& names) {
  config::DatabaseSettings settings;
  settings.hosts = names;
  settings.port = 3306;
  settings.socket = "/run/db.sock";
  return store::Hosts(settings);
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_hosts_there_is_the_socket_alone) {
  auto hosts = hosts_of({});
  BOOST_CHECK_EQUAL(hosts.current(), "unix:///run/db.sock");
  BOOST_CHECK(!hosts.several());
  hosts.pass_on();
  BOOST_CHECK_EQUAL(hosts.current(), "unix:///run/db.sock");
}

BOOST_AUTO_TEST_CASE(a_host_without_a_port_gets_the_default_one) {
  auto hosts = hosts_of({"db1", "db2:3307", "[2001:db8::1]:3308", "[2001:db8::1]"});
  BOOST_CHECK_EQUAL(hosts.size(), 4U);
  for (const auto* expected :
       {"tcp://db1:3306", "tcp://db2:3307", "tcp://[2001:db8::1]:3308", "tcp://[2001:db8::1]:3306"}) {
    BOOST_CHECK_EQUAL(hosts.current(), expected);
    hosts.pass_on();
  }
}

BOOST_AUTO_TEST_CASE(the_current_host_is_kept_and_a_failed_one_comes_last) {
  auto hosts = hosts_of({"a", "b", "c"});
  hosts.pass_on();
  BOOST_CHECK_EQUAL(hosts.current(), "tcp://b:3306");
  BOOST_CHECK_EQUAL(hosts.current(), "tcp://b:3306");
  hosts.pass_on();
  hosts.pass_on();
  BOOST_CHECK_EQUAL(hosts.current(), "tcp://a:3306");
}

BOOST_AUTO_TEST_CASE(a_server_that_takes_no_writes_is_told_by_its_variable) {
  BOOST_CHECK(!store::is_read_only({}));
  BOOST_CHECK(!store::is_read_only({{"read_only", "OFF"}}));
  BOOST_CHECK(store::is_read_only({{"read_only", "ON"}}));
  BOOST_CHECK(store::is_read_only({{"read_only", "NO_LOCK_NO_ADMIN"}}));  // MariaDB 12
}

BOOST_AUTO_TEST_CASE(reads_are_made_causal_on_the_nodes_of_a_cluster_only) {
  BOOST_CHECK_EQUAL(store::causal_reads({{"read_only", "OFF"}, {"wsrep_on", "OFF"}}), "");
  BOOST_CHECK_EQUAL(store::causal_reads({{"wsrep_on", "ON"}}), "SET SESSION wsrep_sync_wait = 1");
  BOOST_CHECK_EQUAL(store::causal_reads({{"group_replication_consistency", "EVENTUAL"}}),
                    "SET SESSION group_replication_consistency = 'BEFORE'");
}

BOOST_AUTO_TEST_SUITE_END()
