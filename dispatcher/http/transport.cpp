#include "dispatcher/http/transport.hpp"

#include <stdexcept>
#include <string>

#include "dispatcher/http/descriptors.hpp"
#include "dispatcher/http/transfer.hpp"

namespace dispatcher {

namespace {

/// Takes effect once in a process. The first call must come before any thread uses libcurl.
void initialise_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK)
    throw std::runtime_error(std::string("libcurl cannot start: ") + curl_easy_strerror(code));
}

struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

/// Distributes keys evenly, even consecutive ones (Fibonacci hashing).
std::uint64_t spread(std::uint64_t key) { return key * 0x9E3779B97F4A7C15U >> 32; }

}  // namespace

class Transport::Multi {
 public:
  Multi(unsigned max_in_flight, Poller& poller, std::vector<Multi*>& owners)
      : poller_(poller), owners_(owners), multi_(curl_multi_init()) {
    if (!multi_) throw std::runtime_error("libcurl cannot make a multi handle");
    const auto in_flight = static_cast<long>(max_in_flight);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, in_flight);  // open connections, in use or idle
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, in_flight);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &watch_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &set_timer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  }

  CURLM* handle() { return multi_.get(); }

  /// Lets libcurl handle one socket or, with CURL_SOCKET_TIMEOUT, what is due. Does not use
  /// curl_multi_perform, which would look at every transfer each time.
  void act(curl_socket_t socket, int mask) {
    if (socket == CURL_SOCKET_TIMEOUT) timer_.reset();
    int running = 0;
    curl_multi_socket_action(multi_.get(), socket, mask, &running);
  }

  const std::optional<platform::MonotonicTime>& timer() const { return timer_; }

 private:
  static int watch_socket(CURL* handle, curl_socket_t socket, int what, void* data, void* /*socket_data*/) {
    auto& multi = *static_cast<Multi*>(data);
    if (what == CURL_POLL_REMOVE) {
      multi.poller_.forget(socket);
      return 0;
    }
    try {
      multi.own(static_cast<std::size_t>(socket));
      multi.poller_.watch(socket, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
    } catch (const std::exception&) {
      // No exception may pass through libcurl. An error code would end every transfer of the multi handle.
      // The socket of this transfer is not watched, so the transfer ends when its time is up.
      if (auto* transfer = Transfer::find(handle)) transfer->fail_locally(delivery::LocalFault::other);
    }
    return 0;
  }

  static int set_timer(CURLM* /*multi*/, long milliseconds, void* data) {
    auto& timer = static_cast<Multi*>(data)->timer_;
    if (milliseconds < 0) {
      timer.reset();
    } else {
      timer = platform::monotonic_now() + platform::Milliseconds(milliseconds);
    }
    return 0;
  }

  void own(std::size_t socket) {
    if (owners_.size() <= socket) owners_.resize(socket + 1);
    owners_[socket] = this;
  }

  Poller& poller_;
  std::vector<Multi*>& owners_;
  std::optional<platform::MonotonicTime> timer_;  // when libcurl must be called, whatever the sockets do
  std::unique_ptr<CURLM, MultiDeleter> multi_;    // last: its destructor uses the members above
};

Transport::Transport(unsigned max_in_flight, Poller& poller) {
  initialise_curl();
  for (unsigned i = 0; i < multi_handles; ++i)
    multis_.push_back(std::make_unique<Multi>(max_in_flight, poller, owners_));
}

Transport::~Transport() = default;

Transport::Multi& Transport::of(std::uint64_t key) { return *multis_[spread(key) % multis_.size()]; }

bool Transport::add(CURL* handle, std::uint64_t key) {
  return curl_multi_add_handle(of(key).handle(), handle) == CURLM_OK;
}

void Transport::remove(CURL* handle, std::uint64_t key) {
  curl_multi_remove_handle(of(key).handle(), handle);
}

std::vector<Transport::Ended> Transport::take_ended() {
  std::vector<Ended> result;
  for (const auto& multi : multis_) {
    if (multi->timer() && platform::monotonic_now() >= *multi->timer()) multi->act(CURL_SOCKET_TIMEOUT, 0);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi->handle(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const Ended ended{message->easy_handle, message->data.result};  // the removal frees the message
      curl_multi_remove_handle(multi->handle(), ended.handle);
      result.push_back(ended);
    }
  }
  return result;
}

void Transport::process(const Poller::Event& event) {
  const int mask = (event.read ? CURL_CSELECT_IN : 0) | (event.write ? CURL_CSELECT_OUT : 0) |
                   (event.error ? CURL_CSELECT_ERR : 0);
  const auto socket = static_cast<std::size_t>(event.fd);
  if (socket < owners_.size() && owners_[socket] != nullptr) owners_[socket]->act(event.fd, mask);
}

std::optional<platform::MonotonicTime> Transport::next_timeout() const {
  std::optional<platform::MonotonicTime> result;
  for (const auto& multi : multis_) {
    if (multi->timer() && (!result || *multi->timer() < *result)) result = multi->timer();
  }
  return result;
}

}  // namespace dispatcher
