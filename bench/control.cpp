// The control for the benchmarks: shows what the machine, libcurl and the receiver can do without the
// service. It is a bare libcurl multi loop on one thread. Like the service, it makes the body, headers and
// signatures of each message, and sends to the same host names over as many connections, with options like
// those of dispatcher/http/transfer.cpp. It has no database, checks no address and records no attempt.
// Prints one JSON object.
#include <curl/curl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/sent.hpp"
#include "lib/platform/clock.hpp"
#include "lib/webhook/event.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/signature.hpp"

namespace {

using bench::host_name;
using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t messages = 0;
  unsigned hosts = 0;
  unsigned connections = 0;
  unsigned per_host = 0;
  unsigned port = 0;
  double rate = 0;       // messages/s at random moments; 0: as fast as it goes
  unsigned timeout = 0;  // of one message, in seconds
  std::string ca_file;
  std::string secret;
  std::string stamps;  // file that gets a line `webhook-id seconds` when a message starts; empty: none
};

Options parse(int argc, char** argv) {
  namespace po = boost::program_options;
  Options options;
  po::options_description known;
  known.add_options()("messages", po::value(&options.messages)->required())(
      "hosts", po::value(&options.hosts)->required())("port", po::value(&options.port)->required())(
      "connections", po::value(&options.connections)->default_value(512))(
      "per-host", po::value(&options.per_host)->default_value(10))(
      "rate", po::value(&options.rate)->default_value(0))("timeout",
                                                          po::value(&options.timeout)->default_value(15))(
      "ca-file", po::value(&options.ca_file)->required())("secret", po::value(&options.secret)->required())(
      "stamps", po::value(&options.stamps));
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  if (options.hosts == 0 || options.connections == 0 || options.per_host == 0)
    throw std::runtime_error("--hosts, --connections and --per-host must be 1 or more");
  return options;
}

template <class T>
void set(CURL* handle, CURLoption option, T value) {
  if (const auto code = curl_easy_setopt(handle, option, value); code != CURLE_OK)
    throw std::runtime_error(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
}

std::size_t ignore(char* /*bytes*/, std::size_t size, std::size_t count, void* /*data*/) {
  return size * count;
}

/// Sends one message at a time on one easy handle. It owns the data to which libcurl only points.
class Slot {
 public:
  explicit Slot(const Options& options) : options_(options), handle_(curl_easy_init()) {
    if (!handle_) throw std::runtime_error("libcurl cannot make a handle");
    set(handle(), CURLOPT_PRIVATE, this);
    set(handle(), CURLOPT_PROTOCOLS_STR, "https");
    set(handle(), CURLOPT_PROXY, "");
    set(handle(), CURLOPT_NOSIGNAL, 1L);
    set(handle(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    // Addresses do not expire: otherwise libcurl checks the age of all known addresses for each message. If
    // there are many hosts, prepare() forgets addresses, so that few are known.
    set(handle(), CURLOPT_DNS_CACHE_TIMEOUT, -1L);
    set(handle(), CURLOPT_TIMEOUT, static_cast<long>(options.timeout));
    set(handle(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(handle(), CURLOPT_CAINFO, options.ca_file.c_str());
    set(handle(), CURLOPT_CAPATH,
        static_cast<char*>(nullptr));  // with a path, libcurl reads CAINFO again at each connection
    set(handle(), CURLOPT_HEADERFUNCTION, &ignore);
    set(handle(), CURLOPT_WRITEFUNCTION, &ignore);
    set(handle(), CURLOPT_POST, 1L);
    set(handle(), CURLOPT_USERAGENT, "apientidades/" APIENTIDADES_VERSION);
  }

  /// Makes the message as the service does, and returns its webhook-id.
  std::string prepare(std::uint64_t index) {
    const auto event = webhook::Event::evaluacion_abierta;
    const auto now = platform::utc_now();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    auto id = webhook::message_id(static_cast<std::int64_t>(index + 1), now);
    body_ = webhook::notification_body(
        event, now,
        R"({"evaluacionId": )" + std::to_string(index + 1) + R"(, "titulo": "Convocatoria 2026"})");
    headers_.reset();
    append(headers_, "Expect:");
    for (const auto& header : webhook::notification_headers(event, id, seconds, body_, options_.secret))
      append(headers_, header);
    const auto port = std::to_string(options_.port);
    const auto host = host_name(index % options_.hosts);
    const auto place = host + ":" + port;
    resolve_.reset();
    // Forgets the address of this slot's previous message, but only if hosts outnumber connections: otherwise
    // another slot may be connecting to the same host.
    if (options_.hosts > options_.connections && !last_place_.empty()) append(resolve_, "-" + last_place_);
    append(resolve_, place + ":127.0.0.1");
    last_place_ = place;
    set(handle(), CURLOPT_RESOLVE, resolve_.get());
    set(handle(), CURLOPT_URL, ("https://" + place + "/notificaciones").c_str());
    set(handle(), CURLOPT_HTTPHEADER, headers_.get());
    set(handle(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
    set(handle(), CURLOPT_POSTFIELDS, body_.data());
    return id;
  }

  CURL* handle() const { return handle_.get(); }

 private:
  struct HandleDeleter {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, ListDeleter>;

  static void append(List& list, const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    [[maybe_unused]] curl_slist* same = list.release();
    list.reset(longer);
  }

  const Options& options_;
  std::unique_ptr<CURL, HandleDeleter> handle_;
  List headers_;
  List resolve_;
  std::string last_place_;
  std::string body_;
};

/// When the next message is due: at once, or at the random times of a Poisson process, independent of the
/// answers.
class Pace {
 public:
  explicit Pace(double rate)
      : rate_(rate), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (timer_ < 0) throw std::runtime_error("timerfd_create failed");
  }
  ~Pace() { ::close(timer_); }
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  bool due() const { return rate_ <= 0 || Clock::now() >= next_; }
  void advance() {
    if (rate_ <= 0) return;
    std::exponential_distribution<double> gap(rate_);
    next_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(gap(random_)));
  }
  /// Returns a descriptor that is readable when the next message is due. libcurl's own time-outs are whole
  /// milliseconds, which is too coarse.
  curl_waitfd arm() {
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(next_.time_since_epoch()).count();
    itimerspec when{};
    if (rate_ > 0)
      when.it_value = {static_cast<time_t>(since / 1000000000), static_cast<long>(since % 1000000000)};
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
    return {timer_, CURL_WAIT_POLLIN, 0};
  }

 private:
  double rate_;
  int timer_;
  std::mt19937_64 random_{std::random_device{}()};
  Clock::time_point next_ = Clock::now();
};

class Loop {
 public:
  explicit Loop(const Options& options) : options_(options), pace_(options.rate), multi_(curl_multi_init()) {
    if (!multi_) throw std::runtime_error("libcurl cannot make a multi handle");
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, 2L * options.connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, static_cast<long>(options.per_host));
    for (unsigned i = 0; i < options.connections; ++i) {
      slots_.push_back(std::make_unique<Slot>(options));
      idle_.push_back(slots_.back().get());
    }
    if (!options.stamps.empty()) stamps_.open(options.stamps);
  }
  ~Loop() {
    for (const auto& slot : slots_) curl_multi_remove_handle(multi_.get(), slot->handle());
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run() {
    constexpr int longest_wait_ms = 1000;
    while (ended_ < options_.messages) {
      const bool more = start_due();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      if (finish_done() && !idle_.empty() && options_.rate <= 0) continue;
      auto timer = pace_.arm();
      curl_multi_poll(multi_.get(), &timer, more ? 1 : 0, longest_wait_ms, nullptr);
    }
  }

  std::uint64_t failed() const { return failed_; }
  std::uint64_t connects() const { return connects_; }

 private:
  /// True: a slot is free for a message that is not due yet.
  bool start_due() {
    while (started_ < options_.messages && !idle_.empty() && pace_.due()) {
      Slot* slot = idle_.back();
      idle_.pop_back();
      const auto id = slot->prepare(started_++);
      pace_.advance();
      stamp(id);
      if (curl_multi_add_handle(multi_.get(), slot->handle()) != CURLM_OK)
        throw std::runtime_error("libcurl cannot start a message");
    }
    return started_ < options_.messages && !idle_.empty();
  }

  void stamp(const std::string& id) {
    if (!stamps_.is_open()) return;
    const auto now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6f", now);
    stamps_ << id << ' ' << text.data() << '\n';
  }

  /// True: at least one message ended.
  bool finish_done() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* handle = message->easy_handle;
      long status = 0;
      long connects = 0;
      Slot* slot = nullptr;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &connects);
      curl_easy_getinfo(handle, CURLINFO_PRIVATE, &slot);
      failed_ += message->data.result != CURLE_OK || status / 100 != 2;
      connects_ += static_cast<std::uint64_t>(connects);
      curl_multi_remove_handle(multi_.get(), handle);
      idle_.push_back(slot);
      ++ended_;
      any = true;
    }
    return any;
  }

  struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  const Options& options_;
  Pace pace_;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> idle_;
  std::ofstream stamps_;
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t connects_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse(argc, argv);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Loop loop(options);
    const auto started = Clock::now();
    loop.run();
    const auto took = std::chrono::duration<double>(Clock::now() - started).count();
    bench::print({options.messages, loop.failed(), loop.connects(), took});
    return loop.failed() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench_control: " << error.what() << '\n';
    return 1;
  }
}
