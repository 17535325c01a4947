// The advice of `config check`.
#include "admin/output/config_notes.hpp"

#include <boost/test/unit_test.hpp>

#include "admin/output/connections_note.hpp"
#include "tests/unit/temporary_folder.hpp"

using platform::IpAddress;

BOOST_AUTO_TEST_SUITE(config_notes)

BOOST_AUTO_TEST_CASE(an_nginx_with_few_connections_is_named) {
  const auto debians =
      admin::nginx_connections_note("events {\n\tworker_connections 768;\n\t# multi_accept on;\n}\n");
  BOOST_TEST(debians.find("worker_connections is 768 and worker_rlimit_nofile not set") != std::string::npos);
  BOOST_TEST(
      !admin::nginx_connections_note("# worker_connections 4096;\nworker_rlimit_nofile 8192;").empty());
  BOOST_TEST(!admin::nginx_connections_note("worker_connections 4096;\nworker_rlimit_nofile 8191;").empty());
  BOOST_TEST(!admin::nginx_connections_note("").empty());
  BOOST_TEST(admin::nginx_connections_note("worker_rlimit_nofile 8192;\nevents { worker_connections 4096; }")
                 .empty());
}

BOOST_AUTO_TEST_CASE(a_public_host_without_denied_networks_is_named) {
  const auto private_one = IpAddress::parse("10.1.2.3").value();
  const auto public_one = IpAddress::parse("2620:fe::fe").value();
  config::DeliverySettings settings;
  BOOST_TEST(admin::denied_networks_note(settings, {private_one}).empty());
  BOOST_TEST(admin::denied_networks_note(settings, {private_one, public_one}).find("address 2620:fe::fe:") !=
             std::string::npos);
  settings.denied_networks = {platform::IpNetwork::parse("203.0.113.0/24").value()};
  BOOST_TEST(admin::denied_networks_note(settings, {private_one, public_one}).empty());
}

BOOST_AUTO_TEST_CASE(a_sandbox_is_named) {
  config::DeliverySettings settings;
  BOOST_TEST(admin::sandbox_note(settings).empty());
  settings.sandbox = {"none"};
  BOOST_TEST(admin::sandbox_note(settings).starts_with("SANDBOX: delivery.sandbox is set"));
}

BOOST_AUTO_TEST_CASE(a_server_with_few_connections_is_named) {
  config::Settings settings;  // 50 + 2 * 17 + 3 + 10
  BOOST_TEST(admin::connections_note(settings, 2, 97).empty());
  BOOST_TEST(admin::connections_note(settings, 2, 96).find("max_connections is 96,") != std::string::npos);
  BOOST_TEST(!admin::connections_note(settings, 3, 97).empty());
  settings.database.evaluation_connections = 51;
  BOOST_TEST(!admin::connections_note(settings, 2, 97).empty());
}

BOOST_AUTO_TEST_CASE(further_handler_processes_are_counted) {
  const unit::TemporaryFolder folder;
  for (const auto* name : {"apientidades-fcgi@1.service", "apientidades-fcgi@3.service", "nginx.service"})
    folder.write(name, "");
  BOOST_TEST(admin::handler_processes(folder.path()) == 3U);
  BOOST_TEST(admin::handler_processes(folder.path() + "/none") == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
