// Transfers whose thread does not run for a time, as when the process is stopped or its machine paused, and
// the order and pace of new connections.
#include "dispatcher/http/transfers.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "dispatcher/http/source.hpp"
#include "tests/fakes/tls_server.hpp"
#include "tests/unit/silent_port.hpp"
#include "tests/wait.hpp"

namespace {

using namespace std::chrono_literals;
using delivery::Attempt;
using delivery::LocalFault;
using delivery::Silence;
using delivery::TransportResult;
using dispatcher::Poller;

constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr auto timeout = 1500ms;

platform::IpAddress ip(const char* text) { return platform::IpAddress::parse(text).value(); }

/// A receiver that answers, or ends its connection, when it is told to.
class Receiver {
  mutable std::mutex mutex_;
  std::set<int> quick_;  // connections with a request to a quick host

 public:
  ~Receiver() { told_ = true; }

  void tell() { told_ = true; }
  bool asked() const { return asked_; }
  bool done() const { return done_; }
  /// How many of the connections up to `last` had a request to a quick host.
  auto count_quick(int last) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::count_if(quick_, [&](int number) { return number <= last; });
  }
  std::atomic<bool> hangs_up = false;
  fakes::TlsServer server{[this](auto& connection, std::string_view request) {
    if (request.empty()) return true;
    asked_ = true;
    if (request.find("Host: quick") != request.npos) {
      const std::scoped_lock lock(mutex_);
      quick_.insert(connection.number());
    }
    while (!told_) std::this_thread::sleep_for(1ms);
    const bool sent = !hangs_up && connection.send(ok);
    done_ = true;
    return sent;
  }};

 private:
  std::atomic<bool> asked_ = false;
  std::atomic<bool> told_ = false;
  std::atomic<bool> done_ = false;
};

/// Two addresses with a port at which nothing accepts a connection, because its queue is full.
class FullPort {
 public:
  FullPort() {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      auto to = dispatcher::socket_address(addresses[i], port_);
      auto& server = sockets_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      BOOST_REQUIRE(::bind(server.fd(), to.get(), to.length) == 0 && ::listen(server.fd(), 0) == 0);
      ::getsockname(server.fd(), reinterpret_cast<sockaddr*>(&to.storage), &to.length);
      port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&to.storage)->sin_port);
      for (int filler = 0; filler < 3; ++filler) {
        sockets_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        ::connect(sockets_.back().fd(), to.get(), to.length);
      }
    }
  }
  const dispatcher::Addresses addresses{ip("127.0.4.1"), ip("127.0.4.2")};
  std::string port() const { return ':' + std::to_string(port_); }

 private:
  std::uint16_t port_ = 0;
  std::vector<dispatcher::Socket> sockets_;
};

struct Fixture {
  Receiver answering, hanging_up, silent;
  SilentPort without_tls;
  FullPort full;
  config::DeliverySettings settings;
  Poller poller;
  std::optional<dispatcher::Transfers> transfers;
  platform::Milliseconds lease = 1h;
  std::map<std::string, Attempt> ended;  // by host
  int rounds = 0;

  Fixture() {
    hanging_up.hangs_up = true;
    settings.allowed_networks = {{platform::IpNetwork::parse("127.0.0.0/8").value(), "*.receptor.test"}};
    settings.ca_file = answering.server.ca_file();
    settings.timeout = settings.connect_timeout = timeout;
  }

  void begin(const std::string& host, dispatcher::Addresses addresses) {
    if (!transfers) transfers.emplace(settings, poller);
    dispatcher::Request request;
    request.host = host;
    request.to_quick = host.starts_with("quick");
    request.lease_until = platform::monotonic_now() + lease;
    request.url = "https://" + host + "/";
    request.body = "{}";
    auto job = dispatcher::begun(std::move(request));
    job.cache_key = host;
    job.addresses = std::move(addresses);
    BOOST_REQUIRE(!transfers->begin(std::move(job)));
  }

  std::string begin(const Receiver& receiver, const std::string& name) {
    settings.ca_file = receiver.server.ca_file();
    auto host = name + ".receptor.test:" + std::to_string(receiver.server.port());
    begin(host, {ip("127.0.0.1")});
    return host;
  }

  void run_until(const std::function<bool()>& done) {
    const auto deadline = platform::monotonic_now() + 30s;
    while (!done()) {
      BOOST_REQUIRE(platform::monotonic_now() < deadline);
      for (const auto& event : poller.wait(10ms)) transfers->process(event);
      for (auto& [purpose, attempt, kept] : transfers->advance())
        ended.insert_or_assign(attempt.host, std::move(attempt));
      ++rounds;
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(transfers, Fixture)

BOOST_AUTO_TEST_CASE(an_answer_that_has_come_is_read_before_the_time_out_is_judged) {
  const auto host = begin(answering, "a");
  const auto over = platform::monotonic_now() + timeout;
  run_until([&] { return answering.asked(); });
  answering.tell();
  while (!answering.done() || platform::monotonic_now() <= over) std::this_thread::sleep_for(1ms);
  run_until([&] { return ended.size() == 1; });
  BOOST_TEST(ended.at(host).status == 200);
}

BOOST_AUTO_TEST_CASE(a_silent_attempt_ends_after_what_came_before_it_has_been_read) {
  const auto host = begin(answering, "a");
  run_until([&] { return answering.asked(); });
  begin("b.receptor.test:443", {ip("127.255.255.255")});  // a broadcast address: connect() finds no route
  transfers->advance();
  answering.tell();
  wait::until([&] { return answering.done(); }, "the answer");
  run_until([&] { return ended.size() == 2; });
  const auto& silent_one = ended.at("b.receptor.test:443");
  BOOST_TEST((silent_one.silence == Silence::network));
  BOOST_TEST((ended.at(host).heard.value() <= silent_one.ended));
}

BOOST_AUTO_TEST_CASE(what_fails_because_its_thread_did_not_run_is_charged_to_nobody) {
  const auto closed = begin(hanging_up, "a");
  run_until([&] { return hanging_up.asked(); });
  begin(silent, "b");
  begin("c.receptor.test" + without_tls.host().substr(without_tls.host().find(':')), {ip("127.0.0.1")});
  begin("d.receptor.test" + full.port(), full.addresses);
  hanging_up.tell();
  const auto until = platform::monotonic_now() + timeout + Poller::longest_lag;
  while (!hanging_up.done() || platform::monotonic_now() <= until) std::this_thread::sleep_for(1ms);
  run_until([&] { return ended.size() == 4; });
  for (const auto& [host, attempt] : ended) {
    BOOST_TEST_CONTEXT(host) {
      BOOST_TEST((attempt.transport == TransportResult::local_failure));
      BOOST_TEST((attempt.fault == LocalFault::stopped));
      BOOST_TEST((attempt.silence == Silence::none));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_receiver_is_charged_with_the_time_in_which_the_thread_ran) {
  const auto stopped = [](const auto& one) { return one.second.fault == LocalFault::stopped; };
  const auto unconnected = "c.receptor.test" + without_tls.host().substr(without_tls.host().find(':'));
  std::string late;
  do {  // again if this thread did not run for a second, on a busy machine
    ended.clear();
    late = begin(silent, "a");
    begin(unconnected, {ip("127.0.0.1")});
    run_until([&] { return ended.size() == 2; });
  } while (std::ranges::any_of(ended, stopped));
  BOOST_TEST((ended.at(late).transport == TransportResult::timeout));
  for (const auto& [host, attempt] : ended) {
    BOOST_TEST((attempt.silence == Silence::network));
    BOOST_TEST((attempt.duration >= timeout));
  }
}

// A broadcast to hosts without a connection began first.
BOOST_AUTO_TEST_CASE(connections_to_quick_receivers_are_made_first_and_every_fourth_to_another) {
  answering.tell();
  settings.timeout = settings.connect_timeout = 30s;
  for (int i = 0; i < 40; ++i) begin(answering, "other" + std::to_string(i));
  for (int i = 0; i < 12; ++i) begin(answering, "quick" + std::to_string(i));
  run_until([&] {
    BOOST_TEST(answering.server.connections() <= 8 * rounds);
    return ended.size() == 52;
  });
  for (const int first : {8, 16}) BOOST_TEST(answering.count_quick(first) == first * 3 / 4);
}

// In each round the thread works for 25 ms, so it makes one connection a round, and the last one waits for
// longer than the receiver has.
BOOST_AUTO_TEST_CASE(a_receiver_is_not_charged_with_the_wait_for_its_turn_to_be_dialled) {
  answering.tell();
  std::vector<std::string> hosts;
  for (int i = 0; i < 100; ++i) hosts.push_back(begin(answering, "a" + std::to_string(i)));
  run_until([&] {
    for (const auto until = platform::monotonic_now() + 25ms; platform::monotonic_now() < until;) continue;
    return ended.size() == hosts.size();
  });
  for (const auto& host : hosts) {
    const auto transport = ended.at(host).transport;  // local_failure if this thread did not run for a second
    BOOST_TEST((transport == TransportResult::answered || transport == TransportResult::local_failure), host);
  }
}

BOOST_AUTO_TEST_CASE(no_connection_is_made_for_an_attempt_that_could_outlast_its_lease) {
  lease = timeout / 2;
  const auto host = begin(silent, "a");
  run_until([&] { return ended.size() == 1; });
  BOOST_TEST((ended.at(host).transport == TransportResult::local_failure));
  BOOST_TEST(silent.server.connections() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
