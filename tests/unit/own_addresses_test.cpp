#include "dispatcher/http/own_addresses.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>

#include "lib/platform/clock.hpp"

namespace {

/// Whether the address is found within `patience`; the look-up of a name takes a moment.
bool finds(const std::vector<std::string>& database_hosts, std::string_view text,
           std::chrono::seconds patience = {}) {
  dispatcher::OwnAddresses own(database_hosts);
  const auto wanted = platform::IpAddress::parse(text).value();
  const auto is_wanted = [&](const platform::IpNetwork& network) {
    return network.base == wanted && network.prefix == (wanted.v6 ? 128U : 32U);
  };
  const auto until = platform::monotonic_now() + patience;
  do {
    if (const auto found = own.take(); found && std::ranges::any_of(*found, is_wanted)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (platform::monotonic_now() < until);
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(own_addresses)

BOOST_AUTO_TEST_CASE(they_are_those_of_the_interfaces_and_of_the_database) {
  BOOST_TEST(finds({}, "127.0.0.1"));
  BOOST_TEST(!finds({}, "11.1.1.1"));
  const std::vector<std::string> hosts{"11.1.1.1", "11.1.1.2:3307", "[2600::1]:3306", "[2600::2]",
                                       "nothing.invalid"};
  for (const auto* text : {"11.1.1.1", "11.1.1.2", "2600::1", "2600::2", "127.0.0.1"})
    BOOST_TEST(finds(hosts, text), text);
}

BOOST_AUTO_TEST_CASE(names_are_looked_up) {
  BOOST_TEST((finds({"localhost"}, "127.0.0.1", std::chrono::minutes(1))));
  BOOST_TEST(!finds({"nothing.invalid"}, "11.1.1.1", std::chrono::seconds(0)));
}

BOOST_AUTO_TEST_SUITE_END()
