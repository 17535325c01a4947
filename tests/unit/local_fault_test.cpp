// System calls that fail for a fault of this host, in each place that makes connections or look-ups.
#include "dispatcher/http/local_fault.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "dispatcher/http/dialler.hpp"
#include "dispatcher/http/sender.hpp"
#include "tests/unit/silent_port.hpp"

namespace {

/// The errno with which connect() and send() fail on such a socket; 0: they do not.
struct Failures {
  std::atomic<int> connect_tcp = 0;
  std::atomic<int> connect_udp = 0;
  std::atomic<int> send = 0;
};
Failures failures;  // the functions below have no other way to know

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

// These replace the system's functions in this program, for libcurl too.

extern "C" int connect(int fd, const sockaddr* to, socklen_t size) {
  static const auto real = next<int (*)(int, const sockaddr*, socklen_t)>("connect");
  int type = 0;
  socklen_t length = sizeof type;
  ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
  const int error = type == SOCK_DGRAM ? failures.connect_udp : failures.connect_tcp;
  return error == 0 ? real(fd, to, size) : fail(error);
}

extern "C" ssize_t send(int fd, const void* bytes, std::size_t size, int flags) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, int)>("send");
  const int error = failures.send;
  return error == 0 ? real(fd, bytes, size, flags) : fail(error);
}

namespace {

using namespace std::chrono_literals;
using delivery::LocalFault;
using delivery::Silence;
using delivery::TransportResult;

platform::IpAddress ip(const char* text) { return platform::IpAddress::parse(text).value(); }

const std::vector<std::pair<int, LocalFault>> ours{{ENOBUFS, LocalFault::enobufs},
                                                   {ENOMEM, LocalFault::enomem},
                                                   {EADDRNOTAVAIL, LocalFault::eaddrnotavail},
                                                   {EPERM, LocalFault::eperm}};

struct Fixture {
  SilentPort port;
  config::DeliverySettings settings;
  dispatcher::Poller poller;

  Fixture() {
    settings.allowed_networks = {{platform::IpNetwork::parse("127.0.0.0/8").value(), "*.receptor.test"},
                                 {platform::IpNetwork::parse("127.0.0.1/32").value(), "127.0.0.1"}};
    settings.ca_file = "/etc/ssl/certs/ca-certificates.crt";
    settings.timeout = settings.connect_timeout = 5s;
  }
  ~Fixture() { failures.connect_tcp = failures.connect_udp = failures.send = 0; }

  dispatcher::Attempt attempt() {
    platform::Mailbox<dispatcher::Attempt> attempts;
    dispatcher::Sender sender(settings, attempts);
    std::vector<dispatcher::Request> requests(1);
    requests[0].host = port.host();
    requests[0].url = port.url();
    requests[0].body = "{}";
    requests[0].read_at = platform::monotonic_now();
    requests[0].lease_until = requests[0].read_at + 1min;
    sender.submit(std::move(requests));
    pollfd ended{attempts.fd(), POLLIN, 0};
    BOOST_REQUIRE(::poll(&ended, 1, 30'000) == 1);
    return attempts.take().at(0);
  }

  void check_ours(LocalFault fault) {
    const auto ended = attempt();
    BOOST_TEST((ended.transport == TransportResult::local_failure));
    BOOST_TEST(name(ended.fault) == name(fault));
    BOOST_TEST((ended.silence == Silence::none));
  }

  dispatcher::Dialled dial() {
    dispatcher::Dialler dialler(settings, poller);
    dialler.dial(this, "a.receptor.test", 9443, {ip("127.0.0.2"), ip("127.0.0.3")},
                 platform::monotonic_now() + 5s);
    auto ended = dialler.take_ended();
    BOOST_REQUIRE(ended.size() == 1U);
    return std::move(ended.front());
  }

  dispatcher::Resolution look_up() {
    dispatcher::Resolver resolver{100ms, poller};
    resolver.look_up("a.example.com");
    const auto deadline = platform::monotonic_now() + 30s;
    while (platform::monotonic_now() < deadline) {
      if (auto ended = resolver.take_ended(); !ended.empty()) return std::move(ended.front());
      for (const auto& event : poller.wait(10ms)) resolver.process(event);
    }
    return {};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(local_fault, Fixture)

BOOST_AUTO_TEST_CASE(a_connection_that_this_host_cannot_begin_is_no_failure_of_the_receiver) {
  for (const auto& [error, fault] : ours) {
    failures.connect_tcp = error;
    check_ours(fault);
    BOOST_TEST(name(dial().fault) == name(fault));
  }
}

BOOST_AUTO_TEST_CASE(what_this_host_cannot_send_is_no_failure_of_the_receiver) {
  for (const int error : {ENOBUFS, ENOMEM}) {
    failures.send = error;
    check_ours(dispatcher::fault_of(error));
  }
}

BOOST_AUTO_TEST_CASE(a_receiver_that_cannot_be_reached_is_no_fault_of_this_host) {
  for (const int error : {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH}) {
    failures.connect_tcp = error;
    const auto ended = attempt();
    BOOST_TEST((ended.transport == TransportResult::connection_failed));
    BOOST_TEST((ended.silence == (error == ECONNREFUSED ? Silence::none : Silence::network)));
    BOOST_TEST((dial().fault == LocalFault::none));
  }
}

// This is what a host without IPv6 says of each receiver's IPv6 address.
BOOST_AUTO_TEST_CASE(a_family_without_an_address_of_this_host_is_no_fault) {
  failures.connect_tcp = failures.connect_udp = EADDRNOTAVAIL;
  BOOST_TEST((dial().fault == LocalFault::none));
  const auto ended = attempt();
  BOOST_TEST((ended.transport == TransportResult::connection_failed));
  BOOST_TEST((ended.silence == Silence::network));
}

BOOST_AUTO_TEST_CASE(a_name_server_that_this_host_cannot_ask_is_not_silent) {
  for (const auto& [error, fault] : ours) {
    failures.connect_udp = error;
    const auto resolution = look_up();
    BOOST_TEST((resolution.servers == dispatcher::Resolution::Servers::not_asked));
    BOOST_TEST(name(resolution.fault) == name(fault));
  }
  failures.connect_udp = ENETUNREACH;
  BOOST_TEST((look_up().servers == dispatcher::Resolution::Servers::silent));
}

BOOST_AUTO_TEST_CASE(what_libcurl_says) {
  using dispatcher::fault_of;
  BOOST_TEST((fault_of(CURLE_SSL_CACERT_BADFILE, LocalFault::none, "", false) == LocalFault::ca_file));
  BOOST_TEST((fault_of(CURLE_FAILED_INIT, LocalFault::none, "", false) == LocalFault::other));
  BOOST_TEST((fault_of(CURLE_OUT_OF_MEMORY, LocalFault::none, "", false) == LocalFault::enomem));
  BOOST_TEST((fault_of(CURLE_OUT_OF_MEMORY, LocalFault::none, "", true) == LocalFault::none));
  const auto* no_memory = "error:0A080100:SSL routines::malloc failure";
  BOOST_TEST((fault_of(CURLE_SSL_CONNECT_ERROR, LocalFault::none, no_memory, false) == LocalFault::enomem));
  const auto* alert = "error:0A000410:SSL routines::sslv3 alert handshake failure";
  BOOST_TEST((fault_of(CURLE_SSL_CONNECT_ERROR, LocalFault::none, alert, false) == LocalFault::none));
  BOOST_TEST((fault_of(CURLE_RECV_ERROR, LocalFault::none, "", true) == LocalFault::none));
}

BOOST_AUTO_TEST_SUITE_END()
