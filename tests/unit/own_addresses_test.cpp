#include "http/own_addresses.hpp"

#include <boost/test/unit_test.hpp>

namespace {

bool finds(const std::vector<std::string>& database_hosts, std::string_view text) {
  dispatcher::OwnAddresses own(database_hosts);
  const auto found = own.take().value();
  BOOST_TEST(!own.take());  // once
  const auto wanted = platform::IpAddress::parse(text).value();
  return std::ranges::any_of(found, [&](const platform::IpNetwork& network) {
    return network.base == wanted && network.prefix == (wanted.v6 ? 128U : 32U);
  });
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

BOOST_AUTO_TEST_SUITE_END()
