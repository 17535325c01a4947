#include "transport.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

using dispatcher::Poller;
using dispatcher::Transport;

namespace {

using namespace std::chrono_literals;

/// Takes the epoll instance of a poller away, as a host without memory for another socket does, and gives it
/// back.
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

/// A port that takes connections and says nothing.
class Silence {
 public:
  Silence() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    BOOST_REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                  ::listen(fd_, 8) == 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "https://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  }
  ~Silence() { ::close(fd_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  const char* url() const { return url_.c_str(); }

 private:
  int fd_;
  std::string url_;
};

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

/// How a request ends that has a moment; -1: it could not even begin.
int outcome(Transport& transport, Poller& poller, const char* url) {
  const Easy easy(curl_easy_init(), curl_easy_cleanup);
  curl_easy_setopt(easy.get(), CURLOPT_URL, url);
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, 100L);
  if (!transport.add(easy.get(), 1)) return -1;
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  for (;;) {
    transport.process_overdue();
    if (const auto ended = transport.take_ended(); !ended.empty()) return ended.front().code;
    BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
    for (const auto& event : poller.wait(10ms)) transport.process(event);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transport)

BOOST_AUTO_TEST_CASE(a_socket_that_cannot_be_watched_costs_its_own_transfer_alone) {
  const Silence silence;
  Poller poller;
  Transport transport(4, poller);
  {
    const Failure failure;
    BOOST_TEST(outcome(transport, poller, silence.url()) == CURLE_OPERATION_TIMEDOUT);
  }
  BOOST_TEST(outcome(transport, poller, silence.url()) == CURLE_OPERATION_TIMEDOUT);
}

BOOST_AUTO_TEST_SUITE_END()
