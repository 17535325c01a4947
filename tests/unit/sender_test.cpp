// What the network's thread starts, and what it hands back.
#include "http/sender.hpp"

#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "silent_port.hpp"

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
