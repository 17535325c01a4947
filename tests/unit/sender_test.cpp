// What the network's thread starts, and what it hands back.
#include "http/sender.hpp"

#include <poll.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "silent_port.hpp"
#include "tls_server.hpp"

namespace {

using namespace std::chrono_literals;
using delivery::TransportResult;
using dispatcher::Attempt;
using dispatcher::Request;

struct Fixture {
  platform::DeliverySettings settings;
  platform::Mailbox<Attempt> attempts;
  SilentPort port;

  Fixture() {
    settings.allowed_networks = {{platform::IpNetwork::parse("127.0.0.1/32").value(), "127.0.0.1"}};
    settings.ca_file = "/etc/ssl/certs/ca-certificates.crt";
    settings.timeout = settings.connect_timeout = 300ms;
  }

  /// The result of a request whose configuration was read so long ago.
  TransportResult send(platform::Milliseconds age) {
    dispatcher::Sender sender(settings, attempts);
    const auto now = platform::monotonic_now();
    Request request;
    request.url = port.url();
    request.host = port.host();
    request.body = "{}";
    request.read_at = now - age;
    request.lease_until = now + 1min;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    sender.submit(std::move(requests));
    pollfd ended{attempts.fd(), POLLIN, 0};
    BOOST_REQUIRE_EQUAL(::poll(&ended, 1, 30'000), 1);
    const auto result = attempts.take();
    BOOST_REQUIRE_EQUAL(result.size(), 1U);
    return result.front().transport;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sender, Fixture)

BOOST_AUTO_TEST_CASE(a_request_is_not_started_with_a_configuration_of_more_than_a_second_ago) {
  BOOST_CHECK(send(0ms) != TransportResult::not_started);
  BOOST_CHECK(send(1000ms) == TransportResult::not_started);
}

// A server may send one at any time; it is no data (RFC 8446 section 4.6.1).
BOOST_AUTO_TEST_CASE(a_session_ticket_that_comes_late_leaves_the_connection_usable) {
  int answers = 0;
  std::atomic<int> tickets = 0;
  fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (request.empty()) return tickets == answers || (++tickets, connection.send_ticket());
    return ++answers, connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  settings.ca_file = server.ca_file();
  settings.timeout = settings.connect_timeout = 10s;
  settings.allowed_networks.front().pattern.clear();
  settings.host_overrides = {{"*.receptor.test", platform::IpAddress::parse("127.0.0.1").value()}};
  dispatcher::Sender sender(settings, attempts);
  for (int i = 0; i < 3; ++i) {
    Request request;
    request.host = "a.receptor.test:" + std::to_string(server.port());
    request.url = "https://" + request.host + "/";
    request.body = "{}";
    request.read_at = platform::monotonic_now();
    request.lease_until = request.read_at + 1min;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    sender.submit(std::move(requests));
    pollfd ended{attempts.fd(), POLLIN, 0};
    BOOST_REQUIRE_EQUAL(::poll(&ended, 1, 30'000), 1);
    BOOST_CHECK_EQUAL(attempts.take().at(0).status, 200);
    const auto deadline = platform::monotonic_now() + 30s;
    while (tickets <= i && platform::monotonic_now() < deadline) std::this_thread::sleep_for(1ms);
  }
  BOOST_CHECK_EQUAL(server.connections(), 1);
}

// What libcurl does when it has no memory left.
BOOST_AUTO_TEST_CASE(a_handle_that_cannot_be_made_ends_its_attempt_and_not_the_program) {
  settings.ca_file = std::string(9'000'000, 'x');  // longer than any option may be
  BOOST_CHECK(send(0ms) == TransportResult::local_failure);
  dispatcher::Sender sender(settings, attempts);
  Request check;
  check.purpose = Request::Purpose::handshake;
  check.url = port.url();
  check.host = port.host();
  std::vector<Request> checks;
  checks.push_back(std::move(check));
  sender.check(std::move(checks));
  std::vector<dispatcher::Check> ended;
  const auto deadline = platform::monotonic_now() + 30s;
  while (ended.empty() && platform::monotonic_now() < deadline) {
    std::this_thread::sleep_for(1ms);
    ended = sender.take_checks();
  }
  BOOST_REQUIRE_EQUAL(ended.size(), 1U);
  BOOST_CHECK(ended[0].outcome == dispatcher::Check::Outcome::not_asked);
}

BOOST_AUTO_TEST_SUITE_END()
