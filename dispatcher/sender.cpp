#include "sender.hpp"

#include <curl/curl.h>

#include <atomic>
#include <deque>
#include <map>
#include <stdexcept>
#include <thread>

#include "descriptors.hpp"
#include "transfer.hpp"

namespace dispatcher {

namespace {

struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

/// Once in a process, before any thread uses libcurl.
void initialise_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK)
    throw std::runtime_error(std::string("libcurl cannot start: ") + curl_easy_strerror(code));
}

Attempt not_started(Request request) {
  Attempt attempt;
  attempt.delivery = std::move(request.delivery);
  return attempt;
}

}  // namespace

class Sender::Impl {
 public:
  Impl(const platform::DeliverySettings& settings, Mailbox<Attempt>& attempts)
      : settings_(settings), attempts_(attempts) {
    initialise_curl();
    multi_.reset(curl_multi_init());
    if (!multi_) throw std::runtime_error("libcurl cannot make a multi handle");
    const auto in_flight = static_cast<long>(settings_.max_in_flight);
    curl_multi_setopt(
        multi_.get(), CURLMOPT_MAXCONNECTS,
        static_cast<long>(connections_for(settings_.max_in_flight)));  // kept, idle ones included
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, in_flight);
    thread_ = std::jthread([this](const std::stop_token& abandon) { run(abandon); });
  }

  ~Impl() {
    thread_.request_stop();
    curl_multi_wakeup(multi_.get());
    if (thread_.joinable()) thread_.join();
    for (const auto& [handle, transfer] : active_) curl_multi_remove_handle(multi_.get(), handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void submit(std::vector<Request> requests) {
    submitted_.put(std::move(requests));
    curl_multi_wakeup(multi_.get());
  }

  void stop_starting() {
    stopping_ = true;
    curl_multi_wakeup(multi_.get());
  }

 private:
  void run(const std::stop_token& abandon) {
    constexpr int longest_wait_ms = 1000;
    while (!abandon.stop_requested()) {
      start_submitted();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      finish_done();
      curl_multi_poll(multi_.get(), nullptr, 0, longest_wait_ms, nullptr);
    }
  }

  void start_submitted() {
    std::vector<Attempt> returned;
    for (auto& request : submitted_.take()) {
      // The owner's own check, on the monotonic clock: an attempt must end before somebody else may begin it
      // again.
      const bool covered = std::chrono::steady_clock::now() + settings_.timeout < request.lease_until;
      if (stopping_ || !covered) {
        returned.push_back(not_started(std::move(request)));
      } else {
        start(std::move(request), returned);
      }
    }
    attempts_.put(std::move(returned));
  }

  /// False: this host could not; `transfer` holds the request all the same.
  bool begin(Transfer& transfer, Request request) {
    try {
      transfer.begin(std::move(request));
      return curl_multi_add_handle(multi_.get(), transfer.handle()) == CURLM_OK;
    } catch (const std::exception&) {
      return false;
    }
  }

  void start(Request request, std::vector<Attempt>& failed) {
    auto transfer = idle_transfer();
    if (begin(*transfer, std::move(request))) {
      CURL* handle = transfer->handle();
      active_.emplace(handle, std::move(transfer));
    } else {
      failed.push_back(transfer->end(CURLE_FAILED_INIT));
    }
  }

  std::unique_ptr<Transfer> idle_transfer() {
    if (idle_.empty()) return std::make_unique<Transfer>(settings_);
    auto transfer = std::move(idle_.back());
    idle_.pop_back();
    return transfer;
  }

  void finish_done() {
    std::vector<Attempt> done;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* handle = message->easy_handle;
      const CURLcode code = message->data.result;  // the message dies with the removal
      curl_multi_remove_handle(multi_.get(), handle);
      auto node = active_.extract(handle);
      done.push_back(node.mapped()->end(code));
      idle_.push_back(std::move(node.mapped()));
    }
    attempts_.put(std::move(done));
  }

  const platform::DeliverySettings settings_;
  Mailbox<Attempt>& attempts_;
  Mailbox<Request> submitted_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::map<CURL*, std::unique_ptr<Transfer>> active_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::jthread thread_;  // last: it uses the rest
};

Sender::Sender(const platform::DeliverySettings& settings, Mailbox<Attempt>& attempts)
    : impl_(std::make_unique<Impl>(settings, attempts)) {}
Sender::~Sender() = default;
void Sender::submit(std::vector<Request> requests) {
  if (!requests.empty()) impl_->submit(std::move(requests));
}
void Sender::stop_starting() { impl_->stop_starting(); }

}  // namespace dispatcher
