#include "lib/platform/ip.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/test/unit_test.hpp>

using platform::IpAddress;
using platform::IpNetwork;

BOOST_AUTO_TEST_SUITE(ip_test)

BOOST_AUTO_TEST_CASE(addresses_are_read_and_written) {
  const auto v4 = IpAddress::parse("192.0.2.1").value();
  BOOST_TEST(!v4.v6);
  BOOST_TEST(v4.bytes[0] == 192);
  BOOST_TEST(v4.bytes[3] == 1);
  BOOST_TEST(v4.to_string() == "192.0.2.1");
  const auto v6 = IpAddress::parse("2001:DB8:0:0::1").value();
  BOOST_TEST(v6.v6);
  BOOST_TEST(v6.bytes[15] == 1);
  BOOST_TEST(v6.to_string() == "2001:db8::1");
}

BOOST_AUTO_TEST_CASE(a_mapped_address_stays_ipv6) {
  const auto mapped = IpAddress::parse("::ffff:127.0.0.1").value();
  BOOST_TEST(mapped.v6);
  BOOST_TEST((mapped != IpAddress::parse("127.0.0.1").value()));
}

BOOST_AUTO_TEST_CASE(only_the_strict_form_is_an_address) {
  for (const auto* text :
       {"", "1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "1.2.3", "1.2.3.4.5", "256.1.1.1",
        "1.2.3.4 ", " 1.2.3.4", "1.2.3.04", "[::1]", "fe80::1%eth0", ":::", "12345::", "localhost"}) {
    BOOST_TEST_INFO(text);
    BOOST_TEST(!IpAddress::parse(text));
  }
  BOOST_TEST(!IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
}

BOOST_AUTO_TEST_CASE(an_address_within_a_longer_text_is_read_to_its_own_end) {
  BOOST_TEST(IpAddress::parse(std::string_view("10.0.0.12").substr(0, 8)).value().to_string() == "10.0.0.1");
}

BOOST_AUTO_TEST_CASE(socket_addresses) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(0x0a000001);
  BOOST_TEST(IpAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&v4)).value().to_string() ==
             "10.0.0.1");
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  BOOST_TEST(IpAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&v6)).value().to_string() == "::1");
  sockaddr_un other{};
  other.sun_family = AF_UNIX;
  BOOST_TEST(!IpAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&other)));
}

bool covers(const char* network, const char* address) {
  return IpNetwork::parse(network).value().contains(IpAddress::parse(address).value());
}

BOOST_AUTO_TEST_CASE(networks_contain_their_addresses) {
  BOOST_TEST(covers("10.0.0.0/8", "10.255.255.255"));
  BOOST_TEST(!covers("10.0.0.0/8", "11.0.0.0"));
  BOOST_TEST(covers("172.16.0.0/12", "172.31.255.255"));
  BOOST_TEST(!covers("172.16.0.0/12", "172.32.0.0"));
  BOOST_TEST(covers("0.0.0.0/0", "255.255.255.255"));
  BOOST_TEST(covers("192.0.2.7", "192.0.2.7"));
  BOOST_TEST(!covers("192.0.2.7", "192.0.2.6"));
  BOOST_TEST(covers("fc00::/7", "fdff::1"));
  BOOST_TEST(!covers("fc00::/7", "fe00::"));
  BOOST_TEST(covers("::1", "::1"));
}

BOOST_AUTO_TEST_CASE(a_network_of_one_family_never_contains_the_other) {
  BOOST_TEST(!covers("0.0.0.0/0", "::1"));
  BOOST_TEST(!covers("::/0", "127.0.0.1"));
  BOOST_TEST(!covers("127.0.0.0/8", "::ffff:127.0.0.1"));
}

BOOST_AUTO_TEST_CASE(networks_are_written) {
  BOOST_TEST(IpNetwork::parse("10.0.0.0/8").value().to_string() == "10.0.0.0/8");
  BOOST_TEST(IpNetwork::parse("::1").value().to_string() == "::1/128");
}

BOOST_AUTO_TEST_CASE(malformed_networks_are_refused) {
  for (const auto* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8x", "10.0.0.0/ 8",
        "10.0.0.0/8/8", "10.0.0.0/4294967304", "10.0.0.1/8", "::/129", "fc00::1/7", "example.org/8"}) {
    BOOST_TEST_INFO(text);
    BOOST_TEST(!IpNetwork::parse(text));
  }
}

BOOST_AUTO_TEST_SUITE_END()
