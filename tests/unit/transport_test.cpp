#include "dispatcher/http/transport.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dispatcher/http/source.hpp"
#include "dispatcher/http/transfer.hpp"
#include "tests/unit/silent_port.hpp"

using delivery::TransportResult;
using dispatcher::Poller;
using dispatcher::Request;
using dispatcher::Transfer;
using dispatcher::Transport;

namespace {

using namespace std::chrono_literals;

/// While this object exists, the poller cannot watch a further socket, as on a host that lacks memory.
class Failure {
 public:
  Failure() : epoll_(find_epoll()), kept_(::dup(epoll_)), nothing_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
    ::dup2(nothing_, epoll_);
  }
  ~Failure() {
    ::dup2(kept_, epoll_);
    ::close(kept_);
    ::close(nothing_);
  }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

 private:
  static int find_epoll() {
    int found = -1;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry, gone) == "anon_inode:[eventpoll]")
        found = std::max(found, std::stoi(entry.path().filename()));
    }
    BOOST_REQUIRE_GE(found, 0);
    return found;
  }

  int epoll_, kept_, nothing_;
};

/// Requests in flight to a port of this host.
class Sending {
 public:
  Sending() {
    settings_.allowed_networks = {{platform::IpNetwork::parse("127.0.0.1/32").value(), "127.0.0.1"}};
    settings_.ca_file = "/etc/ssl/certs/ca-certificates.crt";
    settings_.timeout = settings_.connect_timeout = 300ms;
  }

  /// Starts a request, and waits until libcurl has its socket, or the transfer has ended.
  void start(Transfer& transfer, const std::string& url) {
    const auto before = connections.sockets;
    Request request;
    request.url = url;
    request.body = "{}";
    transfer.begin(dispatcher::begun(std::move(request)));
    transfer.begin_on(dispatcher::open_source_socket(settings_, AF_INET),
                      platform::IpAddress::parse("127.0.0.1").value());
    BOOST_REQUIRE(transport_.add(transfer.handle(), 1));
    started_.push_back(&transfer);
    go_on_until([&] { return connections.sockets > before || results.contains(&transfer); }, [] {});
  }

  void finish(std::size_t count) {
    go_on_until([&] { return results.size() == count; },
                [&] {
                  for (const auto& event : poller_.wait(10ms)) transport_.process(event);
                });
  }

  const config::DeliverySettings& settings() const { return settings_; }
  dispatcher::Connections connections;
  std::map<const Transfer*, TransportResult> results;

 private:
  template <class Done, class Wait>
  void go_on_until(Done&& done, Wait&& wait) {
    const auto deadline = platform::monotonic_now() + 1min;
    while (!done()) {
      BOOST_REQUIRE(platform::monotonic_now() < deadline);
      for (const auto& ended : transport_.take_ended()) {
        auto& transfer = Transfer::of(ended.handle);
        results[&transfer] = transfer.end(ended.code, false).transport;
      }
      for (auto* transfer : started_) {
        const auto due = transfer->deadline();
        if (!due || *due > poller_.read_until()) continue;
        transport_.remove(transfer->handle(), 1);
        results[transfer] = transfer->end(CURLE_OPERATION_TIMEDOUT, false).transport;
      }
      wait();
    }
  }

  config::DeliverySettings settings_;
  Poller poller_;
  Transport transport_{4, poller_};
  std::vector<Transfer*> started_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(transport)

BOOST_AUTO_TEST_CASE(a_socket_that_cannot_be_watched_costs_its_own_transfer_alone_and_blames_no_receiver) {
  const SilentPort silence;
  Sending sending;
  Transfer before(sending.settings(), sending.connections);
  Transfer failing(sending.settings(), sending.connections);
  Transfer after(sending.settings(), sending.connections);
  sending.start(before, silence.url());
  {
    const Failure failure;
    sending.start(failing, silence.url());
  }
  sending.start(after, silence.url());
  sending.finish(3);
  BOOST_TEST((sending.results.at(&failing) == TransportResult::local_failure));
  for (const auto* transfer : {&before, &after})
    BOOST_TEST((sending.results.at(transfer) == TransportResult::timeout ||
                sending.results.at(transfer) == TransportResult::connection_timeout));
}

BOOST_AUTO_TEST_SUITE_END()
