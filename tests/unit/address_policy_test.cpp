#include "lib/webhook/address_policy.hpp"

#include <boost/test/unit_test.hpp>

using platform::IpAddress;
using platform::IpNetwork;
using webhook::is_public_address;
using webhook::may_connect;

namespace {

IpAddress address(std::string_view text) { return IpAddress::parse(text).value(); }
IpNetwork network(std::string_view text) { return IpNetwork::parse(text).value(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(address_policy)

// Addresses of each special block (IANA's IPv4 Special-Purpose Address Registry, multicast, reserved), most
// of them at its ends.
BOOST_AUTO_TEST_CASE(special_ipv4) {
  for (const auto* text :
       {"0.0.0.0",         "0.255.255.255",  "10.0.0.0",        "10.255.255.255",  "100.64.0.0",
        "100.127.255.255", "127.0.0.1",      "127.255.255.255", "169.254.0.0",     "169.254.169.254",
        "172.16.0.0",      "172.31.255.255", "192.0.0.0",       "192.0.0.9",       "192.0.0.10",
        "192.0.0.170",     "192.0.0.255",    "192.0.2.0",       "192.0.2.255",     "192.31.196.1",
        "192.52.193.1",    "192.88.99.1",    "192.168.0.0",     "192.168.255.255", "192.175.48.42",
        "198.18.0.0",      "198.19.255.255", "198.51.100.1",    "203.0.113.255",   "224.0.0.1",
        "239.255.255.255", "240.0.0.1",      "255.255.255.255"}) {
    BOOST_TEST(!is_public_address(address(text)), text);
  }
}

BOOST_AUTO_TEST_CASE(metadata_services_of_clouds) {
  for (const auto* text : {"169.254.169.254", "169.254.170.2", "169.254.42.42", "100.100.100.200",
                           "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254", "fd00:42::42",
                           "fe80::a9fe:a9fe", "64:ff9b::168.63.129.16", "::ffff:168.63.129.16"}) {
    BOOST_TEST(!is_public_address(address(text)), text);
  }
}

// Most of these addresses are just outside the special blocks.
BOOST_AUTO_TEST_CASE(public_ipv4) {
  for (const auto* text :
       {"1.0.0.0",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255",  "100.128.0.0",
        "126.255.255.255", "128.0.0.0",       "169.253.255.255", "169.255.0.0",     "172.15.255.255",
        "172.32.0.0",      "191.255.255.255", "192.0.1.0",       "192.0.3.0",       "192.31.195.255",
        "192.52.194.0",    "168.63.129.15",   "168.63.129.17",   "192.0.255.255",   "192.31.197.0",
        "192.52.192.255",  "192.175.47.255",  "198.51.99.255",   "203.0.112.255",   "192.88.100.0",
        "192.88.98.1",     "192.167.255.255", "192.169.0.0",     "192.175.49.0",    "198.17.255.255",
        "198.20.0.0",      "198.51.101.0",    "203.0.114.0",     "223.255.255.255", "8.8.8.8"}) {
    BOOST_TEST(is_public_address(address(text)), text);
  }
}

BOOST_AUTO_TEST_CASE(special_ipv6) {
  for (const auto* text : {"::",
                           "::1",
                           "::2",
                           "64:ff9b:1::1",
                           "64:ff9b:1::8.8.8.8",
                           "100::1",
                           "100:0:0:1::1",
                           "2001::1",
                           "2001:1::1",
                           "2001:2::1",
                           "2001:3::1",
                           "2001:4:112::1",
                           "2001:10::1",
                           "2001:20::1",
                           "2001:30::1",
                           "2001:1ff:ffff::1",
                           "2001:db8::1",
                           "2002:808:808::1",
                           "2620:4f:8000::1",
                           "3fff::1",
                           "3fff:fff::1",
                           "5f00::1",
                           "fc00::1",
                           "fd12::1",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "feff::1",
                           "ff02::1",
                           "ffff::1",
                           "4000::1",
                           "1fff::1",
                           "200::1"}) {
    BOOST_TEST(!is_public_address(address(text)), text);
  }
}

BOOST_AUTO_TEST_CASE(public_ipv6) {
  for (const auto* text : {"2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1",
                           "2001:db9::1", "2003::1", "2001:ffff::1", "2620:4e:ffff::1", "2620:4f:8001::1",
                           "3ffe::1", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2606:4700::1111",
                           "2620:4f:7fff::1", "2a00:1450::1", "3ffe:ffff::1", "3fff:1000::1"}) {
    BOOST_TEST(is_public_address(address(text)), text);
  }
}

// Among the address forms with an embedded IPv4 address, only NAT64's well-known prefix may be public.
BOOST_AUTO_TEST_CASE(carried_ipv4) {
  BOOST_TEST(is_public_address(address("64:ff9b::8.8.8.8")));
  for (const auto* text : {"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254",
                           "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "::127.0.0.1",
                           "::8.8.8.8", "2002:7f00:1::", "2001:0:808:808::80ff:fffe"}) {
    BOOST_TEST(!is_public_address(address(text)), text);
  }
}

config::DeliverySettings allowing(std::initializer_list<config::AllowedNetwork> networks) {
  config::DeliverySettings settings;
  settings.allowed_networks = networks;
  settings.host_overrides = {{"*.interno.example", address("10.1.2.3")}};
  return settings;
}

bool opens(const config::DeliverySettings& settings, const std::string& text,
           std::string_view host = "a.interno.example") {
  return may_connect(address(text), host, settings);
}

BOOST_AUTO_TEST_CASE(a_sandbox_lists_what_may_be_reached) {
  config::DeliverySettings settings;
  BOOST_TEST(webhook::may_reach("hooks.example.org", settings));
  settings.sandbox = {"one.example.org", "*.pruebas.example.org"};
  for (const auto* listed :
       {"one.example.org", "ONE.example.org", "a.pruebas.example.org", "a.b.pruebas.example.org"})
    BOOST_TEST(webhook::may_reach(listed, settings), listed);
  for (const auto* other : {"two.example.org", "a.one.example.org", "pruebas.example.org",
                            "xpruebas.example.org", "203.0.113.7", ""})
    BOOST_TEST(!webhook::may_reach(other, settings), other);
}

BOOST_AUTO_TEST_CASE(without_an_allowance_only_public_addresses_are_dialled) {
  const auto settings = allowing({});
  BOOST_TEST(opens(settings, "8.8.8.8"));
  for (const auto* text : {"127.0.0.1", "::1", "::ffff:127.0.0.1"}) BOOST_TEST(!opens(settings, text), text);
}

// If the network were open for all names, any entity could register a URL with a name that resolves to an
// address in it.
BOOST_AUTO_TEST_CASE(an_allowed_network_is_open_for_the_names_of_the_overrides_alone) {
  const auto settings = allowing({{network("10.1.0.0/16"), ""}, {network("fd00:1::/32"), ""}});
  BOOST_TEST(opens(settings, "10.1.2.3"));
  BOOST_TEST(opens(settings, "10.1.2.3", "B.Interno.Example"));
  BOOST_TEST(opens(settings, "fd00:1::5"));
  for (const auto* text : {"10.2.0.1", "fd00:2::5", "127.0.0.1"}) BOOST_TEST(!opens(settings, text), text);
  for (const auto* host : {"interno.example", "xinterno.example", "rebind.example.org", "10.1.2.3", ""})
    BOOST_TEST(!opens(settings, "10.1.2.3", host), host);
}

BOOST_AUTO_TEST_CASE(an_allowed_network_with_a_pattern_is_open_for_names_that_match) {
  const auto settings =
      allowing({{network("10.1.0.0/16"), "*.example.org"}, {network("10.2.0.0/16"), "one.net"}});
  BOOST_TEST(opens(settings, "10.1.2.3", "a.b.example.org"));
  BOOST_TEST(opens(settings, "10.2.2.3", "ONE.net"));
  BOOST_TEST(!opens(settings, "10.1.2.3", "example.org"));
  BOOST_TEST(!opens(settings, "10.1.2.3", "one.net"));
  BOOST_TEST(!opens(settings, "10.2.2.3", "a.one.net"));
  // The default host of opens() matches an override, but no pattern of the networks.
  BOOST_TEST(!opens(settings, "10.1.2.3"));
}

BOOST_AUTO_TEST_CASE(denied_networks_are_never_dialled) {
  auto settings = allowing({{network("10.1.0.0/16"), ""}});
  settings.denied_networks = {network("8.8.8.0/24"), network("10.1.2.0/24"), network("2001:4860::/32")};
  for (const auto* text : {"8.8.8.8", "64:ff9b::8.8.8.8", "2001:4860::1", "10.1.2.3", "::ffff:10.1.2.3"})
    BOOST_TEST(!opens(settings, text), text);
  for (const auto* text : {"8.8.4.4", "64:ff9b::8.8.4.4", "10.1.3.3"})
    BOOST_TEST(opens(settings, text), text);
}

// The dispatcher runs inside our packet filter, so the filter does not stop its connections to our own public
// addresses.
BOOST_AUTO_TEST_CASE(own_addresses_are_dialled_only_for_allowed_names) {
  auto settings = allowing({{network("8.8.8.0/24"), "uno.example"}});
  settings.own_addresses = {network("8.8.8.8"), network("8.8.4.4"), network("2600::1")};
  for (const auto* text : {"8.8.8.8", "8.8.4.4", "64:ff9b::8.8.4.4", "2600::1"})
    BOOST_TEST(!opens(settings, text), text);
  for (const auto* text : {"8.8.8.9", "64:ff9b::8.8.4.5", "2600::2"}) BOOST_TEST(opens(settings, text), text);
  BOOST_TEST(opens(settings, "8.8.8.8", "uno.example"));
  BOOST_TEST(!opens(settings, "8.8.4.4", "uno.example"));
  settings.denied_networks = {network("8.8.8.8")};
  BOOST_TEST(!opens(settings, "8.8.8.8", "uno.example"));
}

BOOST_AUTO_TEST_CASE(a_carrier_is_judged_by_what_it_carries) {
  const auto settings = allowing({{network("127.0.0.1/32"), ""}});
  for (const auto* text : {"127.0.0.1", "::ffff:127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1",
                           "::127.0.0.1", "2002:7f00:1::5", "2001:0:808:808::80ff:fffe"}) {
    BOOST_TEST(opens(settings, text), text);
  }
  for (const auto* text : {"127.0.0.2", "::1", "::ffff:127.0.0.2", "::127.0.0.2", "64:ff9b::127.0.0.2",
                           "2002:7f00:2::", "2001:0:7f00:1::", "64:ff9b:1::127.0.0.1"}) {
    BOOST_TEST(!opens(settings, text), text);
  }
}

BOOST_AUTO_TEST_CASE(the_loopback_of_ipv6_carries_nothing) {
  const auto settings = allowing({{network("0.0.0.0/8"), ""}});
  BOOST_TEST(!opens(settings, "::1"));
  BOOST_TEST(!opens(settings, "::"));
  BOOST_TEST(opens(allowing({{network("::1"), ""}}), "::1"));
}

BOOST_AUTO_TEST_CASE(entities_are_shown_public_addresses_that_are_none_of_the_operator_s) {
  auto settings = allowing({{network("8.8.4.0/24"), ""}, {network("2a02:9000::/32"), "one.net"}});
  settings.host_overrides.push_back({"proxy.example", address("9.9.9.9")});
  settings.host_overrides.push_back({"proxy6.example", address("2620:fe::fe")});
  const auto hidden = webhook::operators_networks(settings);
  for (const auto* text : {"8.8.8.8", "9.9.9.10", "2620:fe::9", "64:ff9b::8.8.8.8"})
    BOOST_TEST(webhook::may_be_shown(address(text), hidden), text);
  for (const auto* text : {"10.1.2.3", "127.0.0.1", "8.8.4.4", "64:ff9b::8.8.4.4", "2a02:9000::1", "9.9.9.9",
                           "64:ff9b::9.9.9.9", "2620:fe::fe"})
    BOOST_TEST(!webhook::may_be_shown(address(text), hidden), text);
}

BOOST_AUTO_TEST_SUITE_END()
