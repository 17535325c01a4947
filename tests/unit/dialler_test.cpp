// Dials several addresses of one name. The addresses here that may be dialled are on loopback; the test
// listens on some of them.
#include "dispatcher/http/dialler.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/test/unit_test.hpp>
#include <list>
#include <string>

#include "dispatcher/http/source.hpp"

namespace {

using namespace std::chrono_literals;
using dispatcher::Addresses;
using dispatcher::Dialled;
using dispatcher::Dialler;
using dispatcher::Socket;

platform::IpAddress ip(const char* text) { return platform::IpAddress::parse(text).value(); }

struct Fixture {
  config::DeliverySettings settings;
  dispatcher::Poller poller;
  std::uint16_t port = 0;
  std::list<Socket> sockets;

  Fixture() {
    settings.allowed_networks = {{platform::IpNetwork::parse("127.0.0.0/8").value(), "*.example.com"}};
  }

  static sockaddr_in at(const char* address, std::uint16_t port) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(port);
    std::memcpy(&result.sin_addr, ip(address).bytes.data(), sizeof result.sin_addr);
    return result;
  }

  /// Listens on the address, at the port that all addresses share.
  void listen(const char* address, int backlog = 8) {
    auto& server = sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto own = at(address, port);
    socklen_t size = sizeof own;
    auto* generic = reinterpret_cast<sockaddr*>(&own);
    BOOST_REQUIRE(::bind(server.fd(), generic, size) == 0 && ::listen(server.fd(), backlog) == 0);
    ::getsockname(server.fd(), generic, &size);
    port = ntohs(own.sin_port);
  }

  /// Fills the address's queue of connections, so that the address drops further ones.
  void silence(const char* address) {
    listen(address, 0);
    for (int i = 0; i < 3; ++i) {
      auto& filler = sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const auto to = at(address, port);
      ::connect(filler.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }

  Dialled dial(const Addresses& addresses, platform::Milliseconds patience = 1min) {
    Dialler dialler(settings, poller);
    dialler.dial(this, "a.example.com", port, addresses, platform::monotonic_now() + patience);
    while (true) {
      if (auto ended = dialler.take_ended(); !ended.empty()) {
        BOOST_CHECK(!dialler.next_timeout());
        return std::move(ended.front());
      }
      const auto left = dialler.next_timeout().value() - platform::monotonic_now();
      const auto wait = std::max(std::chrono::ceil<platform::Milliseconds>(left), platform::Milliseconds{0});
      for (const auto& event : poller.wait(wait)) BOOST_CHECK(dialler.process(event));
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(dialler, Fixture)

BOOST_AUTO_TEST_CASE(the_first_that_is_connected_wins) {
  listen("127.0.0.2");
  listen("127.0.0.3");
  const auto dialled = dial({ip("127.0.0.3"), ip("127.0.0.2")});
  BOOST_CHECK(dialled.socket.fd() >= 0 && dialled.address == ip("127.0.0.3") && dialled.caller == this);
}

BOOST_AUTO_TEST_CASE(a_silent_one_is_not_waited_for) {
  silence("127.0.0.4");
  listen("127.0.0.5");
  const auto dialled = dial({ip("127.0.0.4"), ip("127.0.0.5")});
  BOOST_CHECK(dialled.socket.fd() >= 0 && dialled.address == ip("127.0.0.5") && !dialled.timed_out);
}

BOOST_AUTO_TEST_CASE(an_address_behind_many_silent_ones_is_dialled) {
  Addresses addresses;
  for (const auto* silent : {"127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4", "127.0.1.5", "127.0.1.6"}) {
    silence(silent);
    addresses.push_back(ip(silent));
  }
  listen("127.0.1.7");
  addresses.push_back(ip("127.0.1.7"));
  const auto dialled = dial(addresses);
  BOOST_CHECK(dialled.address == ip("127.0.1.7") && dialled.socket.fd() >= 0);
}

// libcurl calls connect() again on the socket that the dialler has connected. Linux lets only one more
// connect() succeed, so the dialler must leave that one to libcurl.
BOOST_AUTO_TEST_CASE(the_socket_can_be_connected_once_more) {
  listen("127.0.0.6");
  const auto dialled = dial({ip("127.0.0.6")});
  const auto to = at("127.0.0.6", port);
  BOOST_CHECK_EQUAL(::connect(dialled.socket.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
}

BOOST_AUTO_TEST_CASE(all_refuse) {
  listen("127.0.0.7");  // chooses the port; the addresses dialled below do not listen at it
  const auto dialled = dial({ip("127.0.0.8"), ip("127.0.0.9")});
  BOOST_CHECK(dialled.socket.fd() < 0 && dialled.address == ip("127.0.0.9") && dialled.heard);
  BOOST_CHECK(!dialled.timed_out && dialled.error == ECONNREFUSED);
}

BOOST_AUTO_TEST_CASE(all_are_silent) {
  silence("127.0.2.1");
  silence("127.0.2.2");
  const auto dialled = dial({ip("127.0.2.1"), ip("127.0.2.2")}, 100ms);
  BOOST_CHECK(dialled.socket.fd() < 0 && dialled.timed_out && !dialled.heard);
}

BOOST_AUTO_TEST_CASE(an_address_that_may_not_be_dialled_is_passed_over) {
  listen("127.0.0.10");
  BOOST_CHECK(dial({ip("10.0.0.1"), ip("127.0.0.10")}).address == ip("127.0.0.10"));
  const auto none = dial({ip("10.0.0.1"), ip("169.254.169.254")});
  BOOST_CHECK(none.socket.fd() < 0 && !none.address);
}

BOOST_AUTO_TEST_CASE(one_that_stalls_holds_up_no_other) {
  silence("127.0.3.1");
  listen("127.0.3.2");
  Dialler dialler(settings, poller);
  int stalled = 0;
  int quick = 0;
  const auto deadline = platform::monotonic_now() + 1min;
  dialler.dial(&stalled, "a.example.com", port, {ip("127.0.3.1")}, deadline);
  dialler.dial(&quick, "b.example.com", port, {ip("127.0.3.2")}, deadline);
  std::vector<Dialled> ended;
  while (ended.empty()) {
    for (const auto& event : poller.wait(10s)) dialler.process(event);
    ended = dialler.take_ended();
  }
  BOOST_CHECK(ended.size() == 1 && ended[0].caller == &quick);
}

BOOST_AUTO_TEST_CASE(a_port_of_another_protocol_is_not_dialled) {
  port = 6379;
  const auto dialled = dial({ip("127.0.0.2"), ip("127.0.0.3")});
  BOOST_CHECK(dialled.socket.fd() < 0 && !dialled.address);
}

std::string source_of(const Socket& socket) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &size);
  return platform::IpAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&own))->to_string();
}

BOOST_AUTO_TEST_CASE(it_dials_from_the_first_source_of_the_family) {
  listen("127.0.0.2");
  const auto one = [](const char* text, bool bound) {
    return config::SourceAddress{platform::IpNetwork::parse(text).value(), bound};
  };
  settings.source_addresses = {one("::1", true), one("127.0.0.0/8", false), one("127.0.0.7", true),
                               one("127.0.0.8", true)};
  BOOST_TEST(source_of(dial({ip("127.0.0.2")}).socket) == "127.0.0.7");
  settings.source_addresses = {one("127.0.0.0/8", false)};  // published to entities, not bound
  BOOST_TEST(source_of(dial({ip("127.0.0.2")}).socket) == "127.0.0.1");
  settings.source_addresses = {one("::1", true)};
  const auto no_family = dial({ip("127.0.0.2")});
  BOOST_CHECK(no_family.socket.fd() < 0 && no_family.fault == delivery::LocalFault::none &&
              no_family.error == 0);
  settings.source_addresses = {one("11.9.9.9", true)};  // no address of this host
  BOOST_CHECK(dial({ip("127.0.0.2")}).fault == delivery::LocalFault::eaddrnotavail);
}

BOOST_AUTO_TEST_CASE(a_broadcast_address_is_no_source) {
  settings.source_addresses = {{platform::IpNetwork::parse("127.255.255.255").value(), true}};
  BOOST_CHECK_THROW(dispatcher::require_source_addresses(settings), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_source_that_is_none_of_this_host_is_named) {
  settings.source_addresses = {{platform::IpNetwork::parse("127.0.0.7").value(), true},
                               {platform::IpNetwork::parse("11.9.9.9/32").value(), false}};
  BOOST_CHECK_NO_THROW(dispatcher::require_source_addresses(settings));
  settings.source_addresses.push_back({platform::IpNetwork::parse("11.9.9.9").value(), true});
  BOOST_CHECK_EXCEPTION(
      dispatcher::require_source_addresses(settings), std::runtime_error,
      [](const std::runtime_error& error) {
        const std::string text = error.what();
        // After a ConfigError, systemd would not try again, and the host may get the address later.
        return dynamic_cast<const config::ConfigError*>(&error) == nullptr &&
               text.starts_with("delivery.source_addresses: nothing can be sent from 11.9.9.9 on") &&
               text.find('\n') == std::string::npos;
      });
}

BOOST_AUTO_TEST_SUITE_END()
