#include "dispatcher/http/callbacks.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "dispatcher/http/tls_connection.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/refused_ports.hpp"

namespace dispatcher {

namespace {

/// For each byte of delivery.max_response, the receiver may send this many bytes of TLS records. A real
/// answer needs far fewer, even with chunks, short records and padding. Without a limit, libcurl would read
/// the extensions of chunks (RFC 9112 section 7.1.1) without end.
constexpr std::size_t bytes_per_byte = 32;

std::uint16_t port_of(const sockaddr* address) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (address->sa_family == AF_INET) {
    std::memcpy(&v4, address, sizeof v4);
    return ntohs(v4.sin_port);
  }
  std::memcpy(&v6, address, sizeof v6);
  return ntohs(v6.sin6_port);
}

/// Stops the transfer: if only this socket were refused, libcurl would first try all further addresses.
curl_socket_t interrupt(Progress& progress) {
  if (!std::exchange(progress.interrupted, true))
    progress.connections->interrupted.push_back(progress.handle);
  return CURL_SOCKET_BAD;
}

/// Gives libcurl the connection that the dialler has made. Without one, asks for a dial: the dialler checks
/// each address before it dials (docs/security.md#addresses-and-ports-that-are-refused).
curl_socket_t open_socket(void* data, curlsocktype /*purpose*/, curl_sockaddr* candidate) {
  auto& progress = *static_cast<Progress*>(data);
  if (progress.connected) {  // libcurl sends again after a 417, or if a kept connection gave no answer
    progress.stale = !progress.answered;
    return interrupt(progress);
  }
  const auto port = port_of(&candidate->addr);
  if (webhook::is_refused_port(port)) {
    progress.port_refused = true;
    return CURL_SOCKET_BAD;
  }
  const auto address = platform::IpAddress::from_sockaddr(&candidate->addr);
  if (progress.dialled.fd() < 0) {
    progress.needs_dial = true;
    progress.port = port;
    progress.address = address;
    return interrupt(progress);
  }
  if (!address || !webhook::may_connect(*address, progress.host, *progress.settings)) {
    progress.refused = true;  // libcurl reports it like a closed port
    return CURL_SOCKET_BAD;
  }
  progress.address = address;
  // libcurl calls connect() even on a socket that the dialler has connected; Linux lets the first such call
  // succeed.
  progress.opened = progress.dialled.release();
  ++progress.connections->sockets;
  return progress.opened;
}

int close_socket(void* connections, curl_socket_t fd) {
  --static_cast<Connections*>(connections)->sockets;
  return ::close(fd);
}

/// Checks the address before the request is sent, also on a kept connection, for which open_socket is not
/// called. If this function aborts the request, libcurl closes the connection.
int before_request(void* data, char* remote_ip, char* /*local_ip*/, int /*remote_port*/, int /*local_port*/) {
  auto& progress = *static_cast<Progress*>(data);
  if (progress.answered) return CURL_PREREQFUNC_ABORT;  // libcurl repeats after a 417
  progress.address = platform::IpAddress::parse(remote_ip);
  if (!progress.address || !webhook::may_connect(*progress.address, progress.host, *progress.settings)) {
    progress.refused = true;
    return CURL_PREREQFUNC_ABORT;
  }
  const int opened = std::exchange(progress.opened, -1);
  const bool again = progress.connected;  // libcurl repeats because a kept connection gave no answer
  progress.kept = opened < 0;
  if (progress.kept && (again || !is_quiet(progress.handle))) {
    if (progress.observed != nullptr && !again && holds_data(progress.handle))
      progress.observed->kept = delivery::Observation::Kept::answered_twice;
    progress.stale = true;
    return CURL_PREREQFUNC_ABORT;
  }
  const auto now = platform::monotonic_now();
  // After a stop of this process the webhook may be deleted, or the lease over.
  if (now > progress.deadline) {
    progress.fault = delivery::LocalFault::stopped;
    return CURL_PREREQFUNC_ABORT;
  }
  if (!progress.kept) {
    remember_connection(progress.handle, opened, now);
    progress.certificate_end = certificate_end(progress.handle);
  } else if (progress.observed == nullptr && age_of_connection(progress.handle, now) > progress.life) {
    // This age limit does not apply to an observed request: if the connection were given up here, the
    // observation would say that the receiver had ended it.
    progress.stale = true;
    return CURL_PREREQFUNC_ABORT;
  }
  if (progress.observed != nullptr) progress.observed->tls = tls_facts(progress.handle);
  allow_messages(progress.handle, progress.settings->max_response * bytes_per_byte);
  progress.connected = true;
  return CURL_PREREQFUNC_OK;
}

CURLcode prepare_tls(CURL* /*handle*/, void* context, void* data) {
  note_wanted_certificate(context, &static_cast<Progress*>(data)->certificate_wanted);
  limit_handshake(context);
  return CURLE_OK;
}

/// Called before libcurl starts a lookup. Refuses the lookup unless the URL has a literal address: a name has
/// already been looked up by Resolver.
int refuse_lookup(void* /*resolver*/, void* /*reserved*/, void* data) {
  auto& progress = *static_cast<Progress*>(data);
  if (progress.literal) return 0;
  progress.refused = true;
  return 1;
}

/// True for a line like `HTTP/1.1 204 …`. libcurl accepts any line that begins with `HTTP/`, and assumes
/// status 200 if the line has no status.
bool is_status_line(std::string_view line) {
  constexpr std::string_view shape = "HTTP/0.0 000";
  return line.size() > shape.size() && text::has_shape(line.substr(0, shape.size()), shape) &&
         std::string_view(" \r\n").find(line[shape.size()]) != std::string_view::npos;
}

/// The status of the last status line that libcurl has read; 0: none.
long status_of(CURL* handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::size_t read_header(char* text, std::size_t size, std::size_t count, void* data) {
  auto& progress = *static_cast<Progress*>(data);
  const std::string_view line(text, size * count);
  progress.header_bytes += line.size();
  progress.last_byte = platform::monotonic_now();
  if (progress.header_bytes > progress.settings->max_response) {
    progress.headers_too_long = true;
    return 0;
  }
  if (progress.answered) return line.size();  // a trailer
  if (!std::exchange(progress.in_head, true)) progress.has_status = is_status_line(line);
  if (line == "\r\n" || line == "\n") {
    progress.status = static_cast<int>(status_of(progress.handle));
    progress.answered = progress.has_status && progress.status >= 200;
    progress.in_head = false;
  }
  return line.size();
}

/// Reads and discards the body, only to keep the connection. Beyond max_response, ends the transfer instead.
std::size_t read_body(char* /*bytes*/, std::size_t size, std::size_t count, void* data) {
  auto& progress = *static_cast<Progress*>(data);
  progress.body_bytes += size * count;
  progress.last_byte = platform::monotonic_now();
  return progress.body_bytes > progress.settings->max_response ? 0 : size * count;
}

}  // namespace

void set_callbacks(Progress& progress) {
  CURL* handle = progress.handle;
  set_option(handle, CURLOPT_ERRORBUFFER, progress.message.data());
  set_option(handle, CURLOPT_RESOLVER_START_FUNCTION, &refuse_lookup);
  set_option(handle, CURLOPT_RESOLVER_START_DATA, &progress);
  set_option(handle, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set_option(handle, CURLOPT_OPENSOCKETDATA, &progress);
  set_option(handle, CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  set_option(handle, CURLOPT_CLOSESOCKETDATA, progress.connections);
  set_option(handle, CURLOPT_PREREQFUNCTION, &before_request);
  set_option(handle, CURLOPT_PREREQDATA, &progress);
  set_option(handle, CURLOPT_HEADERFUNCTION, &read_header);
  set_option(handle, CURLOPT_HEADERDATA, &progress);
  set_option(handle, CURLOPT_WRITEFUNCTION, &read_body);
  set_option(handle, CURLOPT_WRITEDATA, &progress);
  set_option(handle, CURLOPT_SSL_CTX_FUNCTION, &prepare_tls);
  set_option(handle, CURLOPT_SSL_CTX_DATA, &progress);
}

}  // namespace dispatcher
