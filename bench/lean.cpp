// The lean control for the throughput benchmark: shows how far the limit of the machine and the receiver is.
// It sends the messages of bench/control.cpp to the same hosts, on one thread, with epoll and OpenSSL alone.
// It reads no more of an answer than its head, and has no time-outs. Prints one JSON object.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sent.hpp"
#include "lib/platform/clock.hpp"
#include "lib/webhook/event.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/signature.hpp"

namespace {

using bench::host_name;

struct Options {
  std::uint64_t messages = 0;
  unsigned hosts = 0;
  unsigned connections = 0;
  std::uint16_t port = 0;
  std::string ca_file;
  std::string secret;
};

Options parse(int argc, char** argv) {
  namespace po = boost::program_options;
  Options options;
  po::options_description known;
  known.add_options()("messages", po::value(&options.messages)->required())(
      "hosts", po::value(&options.hosts)->required())("port", po::value(&options.port)->required())(
      "connections", po::value(&options.connections)->default_value(512))(
      "ca-file", po::value(&options.ca_file)->required())("secret", po::value(&options.secret)->required());
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  if (options.hosts == 0 || options.connections == 0)
    throw std::runtime_error("--hosts and --connections must be 1 or more");
  return options;
}

/// Makes the message as the service does.
std::string message(std::uint64_t index, const std::string& host, const Options& options) {
  const auto event = webhook::Event::evaluacion_abierta;
  const auto now = platform::utc_now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const auto id = webhook::message_id(static_cast<std::int64_t>(index + 1), now);
  const auto body = webhook::notification_body(
      event, now, R"({"evaluacionId": )" + std::to_string(index + 1) + R"(, "titulo": "Convocatoria 2026"})");
  std::string text = "POST /notificaciones HTTP/1.1\r\nHost: " + host + ":" + std::to_string(options.port) +
                     "\r\nUser-Agent: apientidades/" APIENTIDADES_VERSION "\r\nAccept: */*\r\n";
  for (const auto& header : webhook::notification_headers(event, id, seconds, body, options.secret))
    text += header + "\r\n";
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string(what) + " failed");
}

struct Deleter {
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

/// A descriptor that is closed with this object.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) { require(fd >= 0, "a descriptor"); }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// A connection to one host.
struct Connection {
  Connection(SSL_CTX* context, const std::string& host, std::uint16_t port)
      : socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), tls(SSL_new(context)) {
    constexpr int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    require(::connect(socket.fd(), to, sizeof address) == 0 || errno == EINPROGRESS, "connect");
    require(tls && SSL_set_fd(tls.get(), socket.fd()) == 1, "SSL_set_fd");
    SSL_set_tlsext_host_name(tls.get(), host.c_str());
    require(SSL_set1_host(tls.get(), host.c_str()) == 1, "SSL_set1_host");
  }

  Descriptor socket;
  std::unique_ptr<SSL, Deleter> tls;
};

/// Sends messages on one connection at a time, each after the answer to the former one.
struct Line {
  enum class State { connects, sends, reads };
  std::uint64_t host = 0;
  std::uint64_t next = 0;  // message
  std::unique_ptr<Connection> connection{};
  State state = State::connects;
  std::string text{};  // that is sent
  std::string answer{};
};

class Load {
 public:
  explicit Load(const Options& options) : options_(options) {
    require(context_ != nullptr, "SSL_CTX_new");
    require(SSL_CTX_load_verify_file(context_.get(), options.ca_file.c_str()) == 1, "--ca-file");
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    // Message i goes to host i % hosts, as in bench/control.cpp. Up to `shared_` lines share a host.
    const auto most = std::min<std::uint64_t>(options.connections, options.messages);
    shared_ = std::max<std::uint64_t>(1, most / options.hosts);
    lines_.resize(std::min(most, shared_ * options.hosts));
  }

  /// Sends all messages.
  void run() {
    for (std::uint64_t i = 0; i < lines_.size(); ++i) {
      lines_[i].host = i % options_.hosts;
      open(lines_[i], i / options_.hosts);
    }
    std::array<epoll_event, 256> events{};
    while (open_ > 0) {
      const int count = ::epoll_wait(poll_.fd(), events.data(), events.size(), -1);
      require(count >= 0 || errno == EINTR, "epoll_wait");
      for (int i = 0; i < count; ++i)
        advance(*static_cast<Line*>(events.at(static_cast<std::size_t>(i)).data.ptr));
    }
  }

  std::uint64_t failed() const { return failed_; }
  std::uint64_t connects() const { return connects_; }

 private:
  /// Connects to the line's host. `share`: which part of the host's messages the line sends.
  void open(Line& line, std::uint64_t share) {
    line.next = line.host + options_.hosts * share;
    if (line.next >= options_.messages) return;
    line.connection = std::make_unique<Connection>(context_.get(), host_name(line.host), options_.port);
    line.state = Line::State::connects;
    line.answer.clear();
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = &line}};
    require(::epoll_ctl(poll_.fd(), EPOLL_CTL_ADD, line.connection->socket.fd(), &event) == 0, "epoll_ctl");
    ++open_;
  }

  /// Goes on until the line must wait for its socket.
  void advance(Line& line) {
    while (line.connection) {
      SSL* tls = line.connection->tls.get();
      int result = 0;
      if (line.state == Line::State::connects) {
        result = SSL_connect(tls);
        if (result == 1) begin(line);
      } else if (line.state == Line::State::sends) {
        result = SSL_write(tls, line.text.data(), static_cast<int>(line.text.size()));
        if (result > 0) line.state = Line::State::reads;
      } else {
        std::array<char, 4096> bytes{};
        result = SSL_read(tls, bytes.data(), bytes.size());
        if (result > 0) read(line, std::string_view(bytes.data(), static_cast<std::size_t>(result)));
      }
      if (result > 0) continue;
      const int error = SSL_get_error(tls, result);
      require(error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE, "a connection");
      return;
    }
  }

  void begin(Line& line) {
    ++connects_;
    line.text = message(line.next, host_name(line.host), options_);
    line.state = Line::State::sends;
  }

  void read(Line& line, std::string_view bytes) {
    line.answer += bytes;
    if (!line.answer.ends_with("\r\n\r\n")) return;
    failed_ += line.answer.starts_with("HTTP/1.1 204 ") ? 0 : 1;  // another answer may have a body
    line.answer.clear();
    line.next += options_.hosts * shared_;
    if (line.next < options_.messages) {
      line.text = message(line.next, host_name(line.host), options_);
      line.state = Line::State::sends;
      return;
    }
    line.connection.reset();
    --open_;
    line.host += lines_.size();
    if (line.host < options_.hosts) open(line, 0);
  }

  const Options& options_;
  std::unique_ptr<SSL_CTX, Deleter> context_{SSL_CTX_new(TLS_client_method())};
  Descriptor poll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::uint64_t shared_ = 1;
  std::vector<Line> lines_;
  std::uint64_t open_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t connects_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse(argc, argv);
    Load load(options);
    const auto started = platform::monotonic_now();
    load.run();
    const auto took = std::chrono::duration<double>(platform::monotonic_now() - started).count();
    bench::print({options.messages, load.failed(), load.connects(), took});
    return load.failed() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench_lean: " << error.what() << '\n';
    return 1;
  }
}
