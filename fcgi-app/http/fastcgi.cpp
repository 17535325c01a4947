#include "fcgi-app/http/fastcgi.hpp"

#include <fastcgi.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "fcgi-app/http/connection_wait.hpp"
#include "fcgi-app/http/parameters.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/delivery/ids.hpp"

namespace api {

/// Must not move: libfcgi's streams point to `fcgi`, and the views of `request` point into `fcgi`.
struct Exchange {
  FCGX_Request fcgi;
  Request request;
};

void DeleteExchange::operator()(Exchange* exchange) const {
  constexpr int close_connection = 1;
  FCGX_Free(&exchange->fcgi, close_connection);  // does nothing for a finished request
  std::default_delete<Exchange>()(exchange);
}

namespace {

using ExchangePointer = std::unique_ptr<Exchange, DeleteExchange>;

ExchangePointer make_exchange() {
  auto exchange = std::make_unique<Exchange>();
  constexpr int no_listener = -1;
  if (FCGX_InitRequest(&exchange->fcgi, no_listener, FCGI_FAIL_ACCEPT_ON_INTR) != 0)
    throw std::runtime_error("libfcgi cannot make a request");
  return ExchangePointer(exchange.release());
}

BodyState read_body(const FCGX_Request& fcgi, std::string& body) {
  const AnnouncedBody announced = announced_body(find_parameter(fcgi.envp, "CONTENT_LENGTH"));
  if (announced.state != BodyState::complete || announced.length == 0) return announced.state;
  body.resize(announced.length);
  const int length = static_cast<int>(announced.length);
  return FCGX_GetStr(body.data(), length, fcgi.in) == length ? BodyState::complete : BodyState::malformed;
}

Request read_request(const FCGX_Request& fcgi) {
  Request request = read_head(fcgi.envp);
  request.body_state = read_body(fcgi, request.body);
  request.arrived = platform::monotonic_now();
  return request;
}

/// Appends a record (FastCGI specification, section 3.3) with at most 65,535 bytes of content.
void append_record(std::string& records, int type, std::string_view content, int request_id) {
  const auto byte = [](std::size_t number) { return static_cast<char>(number & 0xFF); };
  const auto id = static_cast<std::size_t>(request_id);
  records += {FCGI_VERSION_1,
              static_cast<char>(type),
              byte(id >> 8),
              byte(id),
              byte(content.size() >> 8),
              byte(content.size()),
              0 /* padding */,
              0};
  records += content;
}

/// Returns the whole answer: header block and body as FCGI_STDOUT, the empty FCGI_STDOUT that ends the
/// stream, and FCGI_END_REQUEST with application status 0 and FCGI_REQUEST_COMPLETE. HEAD's answer has the
/// header block of GET's, and no body.
std::string to_records(int request_id, std::string_view method, const Response& response) {
  constexpr std::size_t longest = 0xFFF8;  // a multiple of 8, as the specification advises
  constexpr std::size_t others = std::size_t{5} * FCGI_HEADER_LEN;
  const auto header = header_block(response);
  const std::string_view body = method == "HEAD" ? std::string_view() : response.body;
  std::string records;
  records.reserve(header.size() + body.size() + body.size() / longest * FCGI_HEADER_LEN + others);
  const auto append = [&](std::string_view text) {
    for (; !text.empty(); text.remove_prefix(std::min(longest, text.size())))
      append_record(records, FCGI_STDOUT, text.substr(0, longest), request_id);
  };
  append(header);
  append(body);
  append_record(records, FCGI_STDOUT, {}, request_id);
  const std::string complete(sizeof(FCGI_EndRequestBody), '\0');
  append_record(records, FCGI_END_REQUEST, complete, request_id);
  return records;
}

/// Writes the answer in one piece if the socket has room. libfcgi's own stream sends 8 KiB at a time and the
/// end separately, and nginx does not buffer: it wakes, encrypts and sends for each piece. What the peer does
/// not take, because it has closed or is too slow (`patience`), is dropped with its connection.
void write_answer(const Exchange& exchange, const Response& response) {
  const FCGX_Request& fcgi = exchange.fcgi;
  const std::string records = to_records(fcgi.requestId, exchange.request.method, response);
  std::string_view left = records;
  while (!left.empty()) {
    const auto sent = ::send(fcgi.ipcFd, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// Whether the peer has sent everything: the next read from its stream meets the end.
bool heard_out(const FCGX_Request& fcgi, BodyState body) {
  return body == BodyState::complete && FCGX_GetChar(fcgi.in) == EOF && FCGX_GetError(fcgi.in) == 0;
}

/// Ends the connection with its request, even if the peer asked to keep it: on a kept connection, unread
/// bytes of a body would be taken for the next request, and an idle connection would block this thread.
///
/// libfcgi waits up to 2 s for the peer to close first, so that bytes still arriving do not make the kernel
/// drop our answer. That wait costs a fifth of a handler's processor time. If everything has arrived,
/// FCGX_Detach skips it.
void finish(FCGX_Request& fcgi, BodyState body) {
  if (heard_out(fcgi, body))
    FCGX_Detach(&fcgi);
  else
    FCGX_Attach(&fcgi);
  constexpr int close_connection = 1;
  FCGX_Free(&fcgi, close_connection);
}

/// nginx has the whole request before it connects, so a peer that is silent for 5 s will not send.
constexpr timeval patience{5, 0};

/// The longest answer (a delivery with 64 KiB of data and 100 attempts) fits in the socket's send buffer, so
/// that a slow client does not block this thread. The size is the most that Linux grants by default; the
/// kernel doubles it to 416 KiB.
constexpr int socket_buffer = 212992;

/// Accepts a connection and reads the parameters of its request. Sets time-outs, which libfcgi's own accept
/// does not. Marks the connection as kept, because libfcgi would close an unmarked connection that it has not
/// accepted itself. Returns 0 or a negative errno. -EBADF: the peer sent no request, and libfcgi then tried
/// to accept from a listener that it does not have.
int accept_request(FCGX_Request& fcgi, int listener_fd) {
  const int fd = ::accept4(listener_fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return -errno;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &socket_buffer, sizeof socket_buffer);
  fcgi.ipcFd = fd;
  fcgi.keepConnection = 1;
  return FCGX_Accept_r(&fcgi);
}

/// Pauses after an error such as a lack of descriptors, which passes only when other requests end.
void pause_after_error(int stop_fd) {
  constexpr int pause_ms = 100;
  pollfd stop{stop_fd, POLLIN, 0};
  ::poll(&stop, 1, pause_ms);
}

/// Whether the peer has closed both directions, as nginx does when its client has gone.
bool is_abandoned(const FCGX_Request& fcgi) {
  pollfd peer{fcgi.ipcFd, 0, 0};  // POLLHUP and POLLERR come unasked
  return ::poll(&peer, 1, 0) > 0 && (peer.revents & (POLLHUP | POLLERR)) != 0;
}

/// Answers requests. Each entity has a limited number of places, one for each of its requests that run at the
/// same time (EntityConcurrency). Further requests wait for a place; refuses a request if too many wait
/// already, or if it has waited too long.
struct ExchangeEnd {
  Responder& responder;
  RequestPlaces& places;
  platform::Heartbeat& heartbeat;

  /// Answers the request, and then the waiting requests that take over its place. Returns the last exchange
  /// for reuse; null if the request waits.
  ExchangePointer answer(ExchangePointer exchange) {
    for (;;) {
      heartbeat.beat();
      Request& request = exchange->request;
      auto response = responder.respond(request);
      if (!response) {
        const auto entered =
            places.enter_or_wait(request.entity.value(), exchange, platform::monotonic_now());
        if (entered == RequestPlaces::Entered::waits) return nullptr;
        request.has_place = entered == RequestPlaces::Entered::at_once;
        if (request.has_place) continue;
        response = responder.refuse(request);
      }
      end(*exchange, *response);
      if (!request.has_place) return exchange;
      auto next = hand_on_place(request.entity.value());
      if (!next) return exchange;
      exchange = std::move(next);
      exchange->request.has_place = true;
    }
  }

  void refuse_expired() {
    for (const auto& expired : places.take_expired(platform::monotonic_now()))
      end(*expired, responder.refuse(expired->request));
  }

 private:
  /// Passes the place to the request that has waited longest and still has a client; requests without a
  /// client are dropped. Null: the place is free.
  ExchangePointer hand_on_place(delivery::EntityId entity) {
    while (auto next = places.leave(entity))
      if (!is_abandoned((*next)->fcgi)) return std::move(*next);
    return nullptr;
  }

  static void end(Exchange& exchange, const Response& response) {
    write_answer(exchange, response);
    finish(exchange.fcgi, exchange.request.body_state);
  }
};

}  // namespace

void prepare_fastcgi(int listener_fd) {
  const int flags = ::fcntl(listener_fd, F_GETFL);
  if (flags < 0 || ::fcntl(listener_fd, F_SETFL, flags | O_NONBLOCK) < 0)
    throw std::system_error(errno, std::generic_category(), "listening socket");
  if (FCGX_Init() != 0) throw std::runtime_error("libfcgi cannot start");
  // After SIGUSR1, libfcgi would accept no more requests, although the process runs on.
  std::signal(SIGUSR1, SIG_IGN);
}

void serve_fastcgi(int listener_fd, int stop_fd, Responder& responder, RequestPlaces& places,
                   const platform::Log& log, platform::Heartbeat& heartbeat) {
  const ConnectionWait connection(listener_fd, stop_fd);
  ExchangeEnd end{responder, places, heartbeat};
  auto exchange = make_exchange();
  while (connection.wait()) {
    heartbeat.beat();
    end.refuse_expired();
    const int result = accept_request(exchange->fcgi, listener_fd);
    if (result == -EBADF) continue;
    if (result == -EAGAIN) {  // another thread took the connection, or none came
      responder.rest();
      continue;
    }
    if (result < 0) {
      log.error("accept failed", {{"error", std::generic_category().message(-result)}});
      pause_after_error(stop_fd);
      continue;
    }
    exchange->request = read_request(exchange->fcgi);
    exchange = end.answer(std::move(exchange));
    if (exchange)
      exchange->request = {};  // its views into `fcgi` end here
    else
      exchange = make_exchange();
  }
}

}  // namespace api
