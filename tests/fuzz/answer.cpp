// Feeds the answers of a receiver to the real sender, over TLS on loopback and on kept connections. The input
// is up to four exchanges, separated by 0xFF. In each, 0xFD begins another TLS record of the answer, and 0xFE
// begins bytes that the receiver sends after the answer, while no request is outstanding.
#include <poll.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "dispatcher/http/sender.hpp"
#include "tests/fakes/tls_server.hpp"
#include "tests/fuzz/answer_oracle.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace std::chrono_literals;
using delivery::TransportResult;
using dispatcher::Attempt;

constexpr std::size_t most_exchanges = 4;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += part;
  return text;
}

struct Exchange {
  std::vector<std::string> answer;  // each string is one TLS record
  std::string late;
};

std::vector<Exchange> exchanges_of(std::string_view input) {
  std::vector<Exchange> exchanges;
  for (const auto& text : split(input, '\xff')) {
    if (exchanges.size() == most_exchanges) break;
    const auto parts = split(text, '\xfe');
    exchanges.push_back({split(parts[0], '\xfd'), joined(split(parts.size() > 1 ? parts[1] : "", '\xfd'))});
  }
  return exchanges;
}

class Receiver {
 public:
  Receiver() : server_([this](auto& connection, auto request) { return serve(connection, request); }) {}

  const fakes::TlsServer& server() const { return server_; }

  void answer_next(std::vector<std::string> pieces, bool closes) {
    const std::lock_guard lock(mutex_);
    pieces_ = std::move(pieces);
    closes_ = closes;
  }

  /// Sends the bytes on the connection that answered last, if it is open, and waits until they are sent.
  void send_late(std::string bytes) {
    std::unique_lock lock(mutex_);
    if (bytes.empty() || !last_) return;
    late_ = std::move(bytes);
    fuzz::require(changed_.wait_for(lock, 5s, [this] { return !late_; }), "late bytes are sent");
  }

  void begin_input() {
    const std::lock_guard lock(mutex_);
    last_.reset();
    late_.reset();
    spoilt_.reset();
    ending_ = connections_;
  }

 private:
  bool serve(fakes::TlsConnection& connection, std::string_view request) {
    std::unique_lock lock(mutex_);
    connections_ = std::max(connections_, connection.number());
    if (connection.number() <= ending_) return false;
    if (request.empty()) {
      if (late_ && last_ == connection.number()) {
        connection.send(*late_);
        spoilt_ = connection.number();
        late_.reset();
        changed_.notify_all();
      }
      return true;
    }
    fuzz::require(spoilt_ != connection.number(),
                  "no request is sent on a connection on which unread bytes wait");
    last_ = connection.number();
    const auto pieces = pieces_;
    const bool closes = closes_;
    if (closes) last_.reset();
    lock.unlock();
    for (const auto& piece : pieces) connection.send(piece);
    return !closes;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> pieces_;
  bool closes_ = false;
  std::optional<int> last_;          // the connection that answered last and was left open
  std::optional<std::string> late_;  // bytes to be sent on that connection
  std::optional<int> spoilt_;        // the connection on which late bytes were sent
  int connections_ = 0;
  int ending_ = 0;  // connections up to this number belong to earlier inputs
  fakes::TlsServer server_;
};

config::DeliverySettings settings_for(const fakes::TlsServer& server) {
  config::DeliverySettings settings;
  settings.allowed_networks = {{platform::IpNetwork::parse("127.0.0.1/32").value(), ""}};
  settings.host_overrides = {{"*.receptor.test", platform::IpAddress::parse("127.0.0.1").value()}};
  settings.ca_file = server.ca_file();
  settings.max_in_flight = 2;
  settings.timeout = settings.connect_timeout = 4s;
  return settings;
}

struct Rig {
  static constexpr int patience_ms = 30'000;

  Receiver receiver;
  platform::Mailbox<Attempt> attempts;
  dispatcher::Sender sender{settings_for(receiver.server()), attempts};
  unsigned inputs = 0;

  void wait_for_attempt() const {
    pollfd ended{attempts.fd(), POLLIN, 0};
    int ready = -1;
    do ready = ::poll(&ended, 1, patience_ms);
    while (ready < 0 && errno == EINTR);  // libFuzzer's timer interrupts poll()
    fuzz::require(ready == 1, "an attempt ends");
  }

  Attempt send() {
    dispatcher::Request request;
    request.host =
        "h" + std::to_string(inputs) + ".receptor.test:" + std::to_string(receiver.server().port());
    request.url = "https://" + request.host + "/";
    request.body = "{}";
    request.read_at = platform::monotonic_now();
    request.lease_until = request.read_at + 1h;
    std::vector<dispatcher::Request> requests;
    requests.push_back(std::move(request));
    sender.submit(std::move(requests));
    wait_for_attempt();
    auto taken = attempts.take();
    fuzz::require(taken.size() == 1, "each request comes back once");
    return std::move(taken.front());
  }
};

/// Whether a lenient reader could find a status line with this status in the bytes.
bool mentions(std::string_view bytes, int status) {
  return bytes.find("HTTP/") != std::string_view::npos &&
         bytes.find(std::to_string(status)) != std::string_view::npos;
}

std::string folded(std::string_view value) {
  std::string result;
  for (const char c : value) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank || (!result.empty() && result.back() != ' ')) result += blank ? ' ' : c;
  }
  return result;
}

void check(const Attempt& attempt, std::string_view bytes) {
  using Verdict = fuzz::Answer::Verdict;
  const auto expected = fuzz::read_answer(bytes);
  const bool answered = attempt.transport == TransportResult::answered;
  if (answered) {
    fuzz::require(attempt.status >= 200, "an answer is final");
    fuzz::require(mentions(bytes, attempt.status), "the status is in the bytes that answer this request");
  }
  if (expected.verdict == Verdict::incomplete)
    fuzz::require(!answered || !bytes.empty(), "without bytes there is no answer");
  if (expected.verdict != Verdict::valid) return;
  fuzz::require(answered, "a valid answer is taken");
  fuzz::require(attempt.status == expected.status, "the status is that of this request's answer");
  if (attempt.status != 429 && attempt.status != 503) return;
  fuzz::require(attempt.retry_after.size() == expected.retry_after.size(),
                "the Retry-After fields are those of this answer");
  for (std::size_t i = 0; i < expected.retry_after.size(); ++i)
    fuzz::require(folded(attempt.retry_after[i]) == folded(expected.retry_after[i]),
                  "each Retry-After has the value that was sent");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Rig rig;
  ++rig.inputs;
  rig.receiver.begin_input();
  for (const auto& exchange : exchanges_of(fuzz::text_of(data, size))) {
    const auto bytes = joined(exchange.answer);
    const auto answer = fuzz::read_answer(bytes);
    const bool stays = answer.verdict == fuzz::Answer::Verdict::valid && answer.ends;
    rig.receiver.answer_next(exchange.answer, !stays);
    check(rig.send(), bytes);
    rig.receiver.send_late(exchange.late);
  }
  return 0;
}
