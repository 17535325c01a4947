// Tests of Sender, which sends requests in a thread of its own, the network's thread.
#include "dispatcher/http/sender.hpp"

#include <curl/curl.h>
#include <poll.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>

#include "lib/delivery/observation.hpp"
#include "tests/fakes/tls_server.hpp"
#include "tests/unit/silent_port.hpp"
#include "tests/wait.hpp"

namespace {

using namespace std::chrono_literals;
using delivery::TransportResult;
using dispatcher::Attempt;
using dispatcher::Request;

constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

struct Fixture {
  config::DeliverySettings settings;
  platform::Mailbox<Attempt> attempts;
  SilentPort port;

  Fixture() {
    settings.allowed_networks = {{platform::IpNetwork::parse("127.0.0.1/32").value(), "127.0.0.1"}};
    settings.ca_file = "/etc/ssl/certs/ca-certificates.crt";
    settings.timeout = settings.connect_timeout = 300ms;
  }

  std::unique_ptr<dispatcher::Sender> sender_to(const fakes::TlsServer& server) {
    settings.ca_file = server.ca_file();
    settings.timeout = settings.connect_timeout = 10s;
    settings.allowed_networks.front().pattern.clear();
    settings.host_overrides = {{"*.receptor.test", platform::IpAddress::parse("127.0.0.1").value()}};
    return std::make_unique<dispatcher::Sender>(settings, attempts);
  }

  Attempt send_to(const fakes::TlsServer& server, dispatcher::Sender& sender) {
    Request request;
    request.host = "a.receptor.test:" + std::to_string(server.port());
    request.url = "https://" + request.host + "/";
    return send(sender, std::move(request), 0ms);
  }

  static void wait_until(const std::function<bool()>& condition, std::chrono::seconds longest = 30s) {
    const auto deadline = platform::monotonic_now() + longest;
    while (!condition() && platform::monotonic_now() < deadline) std::this_thread::sleep_for(1ms);
  }

  static std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }

  /// Sends a request as if its webhook had been read `age` ago; returns its attempt.
  Attempt send(dispatcher::Sender& sender, Request request, platform::Milliseconds age) {
    const auto now = platform::monotonic_now();
    request.body = "{}";
    request.read_at = now - age;
    request.lease_until = now + 1min;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    sender.submit(std::move(requests));
    pollfd ended{attempts.fd(), POLLIN, 0};
    BOOST_REQUIRE_EQUAL(::poll(&ended, 1, 30'000), 1);
    auto result = attempts.take();
    BOOST_REQUIRE_EQUAL(result.size(), 1U);
    return std::move(result.front());
  }

  /// Sends to the silent port, as if the webhook had been read `age` ago; returns the transport result.
  TransportResult send(platform::Milliseconds age) {
    dispatcher::Sender sender(settings, attempts);
    Request request;
    request.url = port.url();
    request.host = port.host();
    return send(sender, std::move(request), age).transport;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sender, Fixture)

BOOST_AUTO_TEST_CASE(a_request_is_not_started_with_a_configuration_of_more_than_a_second_ago) {
  BOOST_CHECK(send(0ms) != TransportResult::not_started);
  BOOST_CHECK(send(1000ms) == TransportResult::not_started);
}

// A server may send a ticket at any time; a ticket is no data (RFC 8446 section 4.6.1). But libcurl 8.0 and
// later closes a connection on which any bytes wait.
BOOST_AUTO_TEST_CASE(a_session_ticket_that_comes_late_leaves_the_connection_usable) {
  std::atomic<int> answers = 0;
  std::atomic<int> tickets = 0;
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (request.empty()) return tickets == answers || (connection.send_ticket() && ++tickets > 0);
    return ++answers, connection.send(ok);
  });
  const auto sender = sender_to(server);
  for (int sent = 1; sent <= 3; ++sent) {
    BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
    wait_until([&] { return tickets == sent; });
  }
  BOOST_CHECK_EQUAL(server.connections(), curl_version_info(CURLVERSION_NOW)->version_num < 0x080000 ? 1 : 3);
}

// OpenSSL reads tickets in a loop while more of them wait, so without a limit they stop the network's thread.
BOOST_AUTO_TEST_CASE(session_tickets_without_end_end_the_connection) {
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    return request.empty() || (connection.send_raw(connection.seal_tickets(200)) && connection.send(ok));
  });
  const auto sender = sender_to(server);
  BOOST_CHECK(send_to(server, *sender).transport == TransportResult::closed);
}

// A renegotiation costs as much as the handshake of a new connection.
BOOST_AUTO_TEST_CASE(renegotiations_without_end_end_the_connection) {
  std::atomic<int> renegotiations = 2;
  const auto script = [&](auto& connection, std::string_view request) {
    if (request.empty()) return true;
    for (int i = 0; i < renegotiations; ++i)
      if (!connection.renegotiate()) return false;
    return connection.send(ok);
  };
  const fakes::TlsServer server(script, {.old = true});
  const auto sender = sender_to(server);
  for (int i = 0; i < 3; ++i) BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  BOOST_CHECK_EQUAL(server.connections(), 1);
  renegotiations = 3;
  BOOST_CHECK(send_to(server, *sender).transport == TransportResult::closed);
}

BOOST_AUTO_TEST_CASE(session_tickets_without_end_on_an_idle_connection_end_it) {
  std::atomic<bool> answered = false;
  std::atomic<bool> sent = false;
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (!request.empty()) return answered = true, connection.send(ok);
    if (answered && !sent) sent = connection.send_raw(connection.seal_tickets(2000));
    return true;
  });
  const auto sender = sender_to(server);
  BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  wait_until([&] { return sent.load(); });
  BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  BOOST_CHECK_EQUAL(server.connections(), 2);
}

BOOST_AUTO_TEST_CASE(a_hundred_session_tickets_before_each_answer_are_allowed) {
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    return request.empty() || (connection.send_raw(connection.seal_tickets(100)) && connection.send(ok));
  });
  const auto sender = sender_to(server);
  for (int i = 0; i < 20; ++i) BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  BOOST_CHECK_EQUAL(server.connections(), 1);
}

// A handshake with ffdhe8192 takes 100 ms of the network's thread.
BOOST_AUTO_TEST_CASE(a_key_exchange_over_a_finite_field_is_not_offered) {
  const auto answer = [](auto& connection, std::string_view request) {
    return request.empty() || connection.send(ok);
  };
  const fakes::TlsServer finite(answer, {.groups = "ffdhe2048"});
  BOOST_CHECK(send_to(finite, *sender_to(finite)).transport == TransportResult::tls_failed);
  const fakes::TlsServer curve(answer, {.groups = "P-384"});
  BOOST_CHECK_EQUAL(send_to(curve, *sender_to(curve)).status, 200);
}

// libcurl reads and ignores extensions of chunks, and no callback tells of them.
BOOST_AUTO_TEST_CASE(an_extension_of_a_chunk_without_end_ends_the_connection) {
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (request.empty()) return true;
    bool open = connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    for (int i = 0; open && i < 1000; ++i) open = connection.send(std::string(16'000, 'x'));
    return open;
  });
  const auto attempt = send_to(server, *sender_to(server));
  BOOST_CHECK_EQUAL(attempt.status, 200);
  BOOST_CHECK(attempt.duration < settings.timeout / 2);
}

// For each value that the sender looks up, libcurl compares the names of all fields. An answer with 64 KB of
// fields took 800 ms of the network's thread.
BOOST_AUTO_TEST_CASE(no_more_than_ten_values_of_retry_after_are_looked_for) {
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    std::string answer = "HTTP/1.1 503 Wait\r\nContent-Length: 0\r\n";
    for (int i = 0; i < 1000; ++i) answer += "Retry-After: 1\r\n";
    return request.empty() || connection.send(answer + "\r\n");
  });
  const auto sender = sender_to(server);
  const auto attempt = send_to(server, *sender);
  BOOST_CHECK_EQUAL(attempt.status, 503);
  BOOST_CHECK_EQUAL(attempt.retry_after.size(), 10U);
}

// The server sends half of a TLS record after its answer. If the connection were used again, that record
// would be taken for the next answer.
BOOST_AUTO_TEST_CASE(half_a_record_that_waits_spoils_the_connection) {
  std::atomic<int> halves = 0;
  std::string rest;
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (request.empty() && halves == 1) {
      const auto record = connection.seal("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n");
      rest = record.substr(20);
      return connection.send_raw(record.substr(0, 20)) && ++halves > 0;
    }
    if (request.empty()) return true;
    if (connection.number() == 1 && halves == 2) return connection.send_raw(rest);
    return connection.send(ok) && (halves > 0 || ++halves > 0);
  });
  const auto sender = sender_to(server);
  BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  wait_until([&] { return halves == 2; });
  BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  BOOST_CHECK_EQUAL(server.connections(), 2);
}

// libcurl 7.88 writes to freed memory if a handle has had an answer and its next answer begins with a folded
// line. AddressSanitizer shows such a write.
BOOST_AUTO_TEST_CASE(an_answer_that_begins_with_a_folded_line_touches_no_other) {
  std::atomic<int> answers = 0;
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (request.empty()) return true;
    const bool folded = ++answers % 2 == 0;
    return connection.send(folded ? "HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 0\r\n\r\n"
                                  : "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 0\r\n\r\n");
  });
  const auto sender = sender_to(server);
  for (int i = 0; i < 3; ++i) {
    BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
    send_to(server, *sender);
  }
}

// After libcurl 8.14 has ended a connection, it would keep the socket until the receiver also ends the
// connection. It would give up after 2 s if another request follows, and never if none follows.
BOOST_AUTO_TEST_CASE(a_receiver_that_does_not_end_its_connection_keeps_no_socket_of_ours) {
  std::atomic<bool> over = false;
  const fakes::TlsServer server([&](auto& connection, std::string_view request) {
    if (request.empty()) return true;
    const bool sent = connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    wait_until([&] { return over.load(); });  // the server does not read, so it does not see our close_notify
    return sent;
  });
  const auto sender = sender_to(server);
  const auto before = open_descriptors();
  BOOST_CHECK_EQUAL(send_to(server, *sender).status, 200);
  wait_until([&] { return open_descriptors() <= before + 1; });  // 1: the server's end, in this process
  BOOST_CHECK_LE(open_descriptors(), before + 1);
  over = true;
}

// libcurl refuses an option of the handle, as it would if it had no memory left.
BOOST_AUTO_TEST_CASE(a_handle_that_cannot_be_made_ends_its_attempt_and_not_the_program) {
  settings.ca_file = std::string(9'000'000, 'x');  // longer than libcurl allows for any option
  BOOST_CHECK(send(0ms) == TransportResult::local_failure);
  dispatcher::Sender sender(settings, attempts);
  Request check;
  check.purpose = Request::Purpose::handshake;
  check.url = port.url();
  check.host = port.host();
  check.observed = std::make_shared<delivery::Observation>();
  std::vector<Request> checks;
  checks.push_back(std::move(check));
  sender.submit(std::move(checks));
  std::vector<Attempt> ended;
  wait::until([&] { return !(ended = attempts.take()).empty(); }, "the check to end");
  BOOST_REQUIRE_EQUAL(ended.size(), 1U);
  BOOST_CHECK(ended[0].transport == TransportResult::local_failure);
}

// A host without IPv6 cannot make a socket for a receiver that has only an IPv6 address. If an attempt
// without a socket were a sign of life, attempts to such a receiver would end every outage of our own.
BOOST_AUTO_TEST_CASE(an_attempt_without_a_socket_is_no_sign_of_life) {
  settings.source_addresses = {{platform::IpNetwork::parse("127.0.0.0/8").value(), false}};
  settings.allowed_networks = {{platform::IpNetwork::parse("::1/128").value(), "::1"}};
  dispatcher::Sender sender(settings, attempts);
  Request request;
  request.host = "[::1]:9443";
  request.url = "https://" + request.host + "/";
  const auto attempt = send(sender, std::move(request), 0ms);
  BOOST_CHECK(attempt.transport == TransportResult::connection_failed);
  BOOST_CHECK(!attempt.heard && attempt.silence == delivery::Silence::none);
}

BOOST_AUTO_TEST_SUITE_END()
