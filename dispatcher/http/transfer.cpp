#include "http/transfer.hpp"

#include <netinet/in.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "delivery/classify.hpp"
#include "http/connection_pools.hpp"
#include "http/request.hpp"
#include "http/tls_connection.hpp"
#include "platform/text.hpp"
#include "webhook/address_policy.hpp"
#include "webhook/target_url.hpp"

namespace dispatcher {

namespace {

constexpr long receive_buffer =
    4096;  // bytes of each attempt in flight; answers are short, and their text unread

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

/// Every candidate address of every name comes by here, or by the dialler, before it is dialled, whatever its
/// spelling (docs/security.md).
curl_socket_t open_socket(void* data, curlsocktype /*purpose*/, curl_sockaddr* candidate) {
  auto& progress = *static_cast<Progress*>(data);
  const auto address = platform::IpAddress::from_sockaddr(&candidate->addr);
  if (!address || !webhook::may_connect(*address, progress.host, *progress.settings)) {
    progress.refused = true;  // libcurl reports it like a closed port
    return CURL_SOCKET_BAD;
  }
  if (progress.several) {
    // libcurl would now ask for the next address, the later the more there are.
    if (!std::exchange(progress.needs_dial, true)) progress.connections->to_dial.push_back(progress.handle);
    progress.port = port_of(&candidate->addr);
    return CURL_SOCKET_BAD;
  }
  progress.address = address;
  // Of a socket that is connected, the first connect() on Linux says so; libcurl goes on from there.
  const int fd = progress.dialled.fd() >= 0
                     ? progress.dialled.release()
                     : ::socket(candidate->family, candidate->socktype | SOCK_CLOEXEC, candidate->protocol);
  if (fd < 0) {
    // A family that this host does not have (EAFNOSUPPORT) is no failure of ours.
    if (is_shortage(errno)) progress.local_failure = true;
    return CURL_SOCKET_BAD;
  }
  progress.opened = fd;
  ++progress.connections->sockets;
  return fd;
}

int close_socket(void* connections, curl_socket_t fd) {
  --static_cast<Connections*>(connections)->sockets;
  return ::close(fd);
}

/// Just before the request, also on a reused connection, for which open_socket is not asked. libcurl closes
/// the connection of what is aborted here.
int before_request(void* data, char* remote_ip, char* /*local_ip*/, int /*remote_port*/, int /*local_port*/) {
  auto& progress = *static_cast<Progress*>(data);
  progress.address = platform::IpAddress::parse(remote_ip);
  if (!progress.address || !webhook::may_connect(*progress.address, progress.host, *progress.settings)) {
    progress.refused = true;
    return CURL_PREREQFUNC_ABORT;
  }
  const int opened = std::exchange(progress.opened, -1);
  const bool again = progress.connected;  // libcurl repeats what a kept connection did not answer
  progress.kept = opened < 0;
  if (progress.kept && (again || !is_quiet(progress.handle))) {
    progress.stale = true;
    return CURL_PREREQFUNC_ABORT;
  }
  if (!progress.kept) remember_socket(progress.handle, opened);
  progress.connected = true;
  return CURL_PREREQFUNC_OK;
}

CURLcode prepare_tls(CURL* /*handle*/, void* context, void* data) {
  note_wanted_certificate(context, &static_cast<Progress*>(data)->certificate_wanted);
  return CURLE_OK;
}

/// libcurl is about to look a name up by itself, in a thread: it never needs to, and must not.
int refuse_lookup(void* /*resolver*/, void* /*reserved*/, void* data) {
  auto& progress = *static_cast<Progress*>(data);
  if (progress.literal) return 0;
  progress.refused = true;
  return 1;
}

/// `HTTP/1.1 204 …`: libcurl takes any line that begins with `HTTP/` for one, of status 200 where it reads
/// none.
bool is_status_line(std::string_view line) {
  constexpr std::string_view shape = "HTTP/0.0 000";
  return line.size() > shape.size() && platform::has_shape(line.substr(0, shape.size()), shape) &&
         std::string_view(" \r\n").find(line[shape.size()]) != std::string_view::npos;
}

/// The status of the last status line that libcurl has read; 0 without one.
long status_of(CURL* handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

/// The values of a field of the final answer, without interim answers and trailers (RFC 9110 section 6.5.1).
std::vector<std::string> fields_of(CURL* handle, const char* name) {
  std::vector<std::string> values;
  curl_header* header = nullptr;
  for (std::size_t i = 0; curl_easy_header(handle, name, i, CURLH_HEADER, -1, &header) == CURLHE_OK; ++i)
    values.emplace_back(platform::trim(header->value));
  return values;
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
    progress.answered = progress.has_status && status_of(progress.handle) >= 200;
    progress.in_head = false;
  }
  return line.size();
}

/// The body is read only so that the connection can be kept; past the limit it is not worth that.
std::size_t read_body(char* /*bytes*/, std::size_t size, std::size_t count, void* data) {
  auto& progress = *static_cast<Progress*>(data);
  progress.body_bytes += size * count;
  progress.last_byte = platform::monotonic_now();
  return progress.body_bytes > progress.settings->max_response ? 0 : size * count;
}

/// The errno by which the system itself says that there is no way to the receiver.
bool is_no_route(long error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case ETIMEDOUT:
    case EADDRNOTAVAIL:
    case EPERM:   // its packet filter
    case EACCES:  // a route that prohibits
    case EINVAL:  // a route into nowhere
      return true;
    default:
      return false;
  }
}

/// Whether CURLINFO_OS_ERRNO tells of the transfer that ended so.
bool is_of_the_system(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SEND_ERROR ||
         code == CURLE_RECV_ERROR;
}

template <class T>
void set(CURL* handle, CURLoption option, T value) {
  if (const auto code = curl_easy_setopt(handle, option, value); code != CURLE_OK) {
    throw std::runtime_error(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
  }
}

/// What the entity can mend.
TransportResult certificate_ending(CURL* handle) {
  long verified = 0;
  curl_easy_getinfo(handle, CURLINFO_SSL_VERIFYRESULT, &verified);
  switch (verified) {
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED:  // libcurl begins with it, and leaves it when the chain is good and the name
                                  // is not
      return TransportResult::tls_wrong_name;
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return TransportResult::tls_expired;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return TransportResult::tls_weak;
    case X509_V_ERR_INVALID_PURPOSE:
      return TransportResult::tls_wrong_purpose;
    default:
      return TransportResult::tls_untrusted;
  }
}

/// Takes the delivery out of the job.
Attempt attempt_of(Job& job, TransportResult result) {
  Attempt attempt;
  attempt.delivery = std::move(job.request.delivery);
  attempt.transport = result;
  attempt.started = job.started;
  attempt.ended = platform::monotonic_now();
  attempt.duration = std::chrono::duration_cast<platform::Milliseconds>(attempt.ended - job.since);
  attempt.url = std::move(job.request.url);
  attempt.host = job.request.host;
  attempt.lease_until = job.request.lease_until;
  attempt.name_answered = job.name_answered;
  return attempt;
}

}  // namespace

Transfer::Transfer(const platform::DeliverySettings& settings, Connections& connections)
    : settings_(settings), connections_(connections), names_(curl_share_init()) {
  if (!names_ || curl_share_setopt(names_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) != CURLSHE_OK)
    throw std::runtime_error("libcurl cannot make a handle");
  renew_handle();
}

/// A handle serves one request, which costs 1 microsecond: 7.88 keeps a pointer to the last field of an
/// answer beyond its end, and writes there when the next answer begins with a folded line.
void Transfer::renew_handle() {
  std::unique_ptr<CURL, HandleDeleter> handle(curl_easy_init());
  if (!handle) throw std::runtime_error("libcurl cannot make a handle");
  handle_ = std::move(handle);
  set(this->handle(), CURLOPT_PRIVATE, this);
  set(this->handle(), CURLOPT_SHARE, names_.get());
  set_protocol_options();
  set_tls_options();
  set_callbacks();
}

Transfer& Transfer::of(CURL* handle) { return *find(handle); }

Transfer* Transfer::find(CURL* handle) {
  Transfer* transfer = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
  return transfer;
}

void Transfer::append(List& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  [[maybe_unused]] curl_slist* same = list.release();
  list.reset(longer);
}

void Transfer::begin(Job job, const Route& route, const Addresses& addresses) {
  job_ = std::move(job);
  progress_ = {};
  progress_.settings = &settings_;
  progress_.connections = &connections_;
  const auto host = webhook::host_and_port(job_.request.url);
  progress_.host = webhook::host_name(host);
  progress_.literal = addresses.empty();
  progress_.several = addresses.size() > 1;
  addresses_ = progress_.several ? addresses : Addresses{};
  connecting_since_ = job_.since;
  expects_continue_ = false;
  renew_handle();
  progress_.handle = handle();
  set_addresses(cache_key(route), addresses);
  set_request(job_.request.purpose == Request::Purpose::handshake);
}

void Transfer::begin_on(Socket socket, const platform::IpAddress& address) {
  begin_afresh();
  progress_.several = false;
  progress_.dialled = std::move(socket);
  set_addresses(cached_, {address});
}

void Transfer::begin_again() {
  // An answer that has come is lost with the write that meets the reset: this time it is read first.
  if (progress_.connected && !progress_.kept) expects_continue_ = true;
  connecting_since_ = platform::monotonic_now();
  begin_afresh();
}

/// The same request on a new connection, as if nothing had been tried before.
void Transfer::begin_afresh() {
  renew_handle();
  Progress progress;
  progress.handle = handle();
  progress.settings = &settings_;
  progress.connections = &connections_;
  progress.host = std::move(progress_.host);
  progress.literal = progress_.literal;
  progress.several = progress_.several;
  progress_ = std::move(progress);
  set_request(true);
}

bool Transfer::needs_fresh_connection(CURLcode code) const {
  if (progress_.stale) return true;
  if (!progress_.connected) return false;
  // What many servers send when an idle connection's time is over; it may meet the request on its way.
  if (progress_.answered) return progress_.kept && status_of(handle()) == 408;
  if (progress_.header_bytes > 0) return false;
  if (!progress_.kept) return code == CURLE_SEND_ERROR && !expects_continue_;
  return code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR;
}

void Transfer::set_protocol_options() {
  set(handle(), CURLOPT_PROTOCOLS_STR, "https");
  set(handle(), CURLOPT_FOLLOWLOCATION, 0L);
  set(handle(), CURLOPT_PROXY, "");  // whatever the environment says
  set(handle(), CURLOPT_NOSIGNAL, 1L);
  // Over HTTP/2 libcurl 7.88 fails with a receiver that answers before it has read the body, six times of
  // ten; 8.14 does not.
  set(handle(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle(), CURLOPT_POST, 1L);
  set(handle(), CURLOPT_MAXLIFETIME_CONN, static_cast<long>(connection_life.count()));
  set(handle(), CURLOPT_USERAGENT, "apientidades/" APIENTIDADES_VERSION);
  set(handle(), CURLOPT_BUFFERSIZE, receive_buffer);
  set(handle(), CURLOPT_DNS_CACHE_TIMEOUT, -1L);  // set_addresses takes out what it put in
}

void Transfer::set_tls_options() {
  set(handle(), CURLOPT_SSL_VERIFYPEER, 1L);
  set(handle(), CURLOPT_SSL_VERIFYHOST, 2L);
  set(handle(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(handle(), CURLOPT_CAINFO, settings_.ca_file.c_str());
  // With Debian's default CAPATH the bundle is parsed again for every connection: 29 ms of processor time
  // instead of 1 (libcurl 7.88), or 8 (8.14).
  set(handle(), CURLOPT_CAPATH, static_cast<char*>(nullptr));
  // Kept connections make them rare, and five sessions a handle, with their certificates, are memory.
  set(handle(), CURLOPT_SSL_SESSIONID_CACHE, 0L);
  set(handle(), CURLOPT_SSL_CTX_FUNCTION, &prepare_tls);
  set(handle(), CURLOPT_SSL_CTX_DATA, &progress_);
}

void Transfer::set_callbacks() {
  set(handle(), CURLOPT_RESOLVER_START_FUNCTION, &refuse_lookup);
  set(handle(), CURLOPT_RESOLVER_START_DATA, &progress_);
  set(handle(), CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(handle(), CURLOPT_OPENSOCKETDATA, &progress_);
  set(handle(), CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  set(handle(), CURLOPT_CLOSESOCKETDATA, &connections_);
  set(handle(), CURLOPT_PREREQFUNCTION, &before_request);
  set(handle(), CURLOPT_PREREQDATA, &progress_);
  set(handle(), CURLOPT_HEADERFUNCTION, &read_header);
  set(handle(), CURLOPT_HEADERDATA, &progress_);
  set(handle(), CURLOPT_WRITEFUNCTION, &read_body);
  set(handle(), CURLOPT_WRITEDATA, &progress_);
}

/// In place of what the last request left in the handle's DNS cache.
void Transfer::set_addresses(std::string key, const Addresses& addresses) {
  resolve_.reset();
  if (!cached_.empty()) append(resolve_, forget_line(cached_));
  cached_.clear();
  if (!addresses.empty()) {
    append(resolve_, resolve_line(key, addresses));
    cached_ = std::move(key);
  }
  set(handle(), CURLOPT_RESOLVE, resolve_.get());
}

void Transfer::set_request(bool fresh_connection) {
  const auto& request = job_.request;
  const bool handshake = request.purpose == Request::Purpose::handshake;
  set(handle(), CURLOPT_URL, request.url.c_str());
  set(handle(), CURLOPT_CONNECT_ONLY, handshake ? 1L : 0L);
  set(handle(), CURLOPT_FRESH_CONNECT, fresh_connection ? 1L : 0L);
  set_time_outs();
  if (handshake) return;
  set(handle(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(handle(), CURLOPT_POSTFIELDS, request.body.data());
  headers_.reset();
  // 100-continue costs a round trip, or a second with receivers that ignore it.
  append(headers_, expects_continue_ ? "Expect: 100-continue" : "Expect:");
  for (const auto& header : headers_of(request, job_.started)) append(headers_, header);
  set(handle(), CURLOPT_HTTPHEADER, headers_.get());
}

void Transfer::set_time_outs() {
  const auto now = platform::monotonic_now();
  const auto left = [now](platform::MonotonicTime until) {
    const auto milliseconds = std::chrono::ceil<platform::Milliseconds>(until - now).count();
    return static_cast<long>(std::max(milliseconds, platform::Milliseconds::rep{1}));  // 0 is none
  };
  set(handle(), CURLOPT_TIMEOUT_MS, left(job_.since + settings_.timeout));
  set(handle(), CURLOPT_CONNECTTIMEOUT_MS, left(connect_deadline()));
}

/// Without the certificate that the receiver asked for, the handshake fails under TLS 1.2, and under TLS 1.3
/// the connection ends after it. Others ask, and go on without it.
bool Transfer::is_refused_certificate() const {
  return progress_.certificate_wanted && progress_.header_bytes == 0;
}

TransportResult Transfer::transport_result_of(CURLcode code) const {
  if (progress_.answered) return TransportResult::answered;
  if (progress_.headers_too_long) return TransportResult::headers_too_long;
  if (progress_.local_failure) return TransportResult::local_failure;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: {
      curl_off_t connected = 0;
      curl_easy_getinfo(handle(), CURLINFO_APPCONNECT_TIME_T, &connected);
      const auto elapsed = platform::monotonic_now() - job_.since;
      return connected == 0 && elapsed < settings_.timeout ? TransportResult::connection_timeout
                                                           : TransportResult::timeout;
    }
    case CURLE_COULDNT_RESOLVE_HOST:
      return TransportResult::name_unresolved;
    case CURLE_ABORTED_BY_CALLBACK:
      return progress_.refused ? TransportResult::address_refused : TransportResult::local_failure;
    case CURLE_COULDNT_CONNECT:
      return progress_.refused && !progress_.address ? TransportResult::address_refused
                                                     : TransportResult::connection_failed;
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:  // a line of more than 100 KB
#endif
    case CURLE_OUT_OF_MEMORY:  // as is said of such a line before 8.6
      return progress_.connected ? TransportResult::headers_too_long : TransportResult::local_failure;
    case CURLE_FAILED_INIT:
    case CURLE_SSL_CACERT_BADFILE:
      return TransportResult::local_failure;
    case CURLE_PEER_FAILED_VERIFICATION:
      return certificate_ending(handle());
    case CURLE_SSL_CONNECT_ERROR:
      return is_refused_certificate() ? TransportResult::tls_client_wanted : TransportResult::tls_failed;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
      return is_refused_certificate() ? TransportResult::tls_client_wanted : TransportResult::closed;
    default:
      return TransportResult::bad_response;
  }
}

/// A connection alone is no sign of life: whatever is on the way may have made it.
void Transfer::note_signs_of_life(CURLcode code, Attempt& attempt) const {
  using enum TransportResult;
  if (attempt.transport == address_refused || attempt.transport == local_failure) return;
  long error = 0;
  curl_easy_getinfo(handle(), CURLINFO_OS_ERRNO, &error);
  const bool ended_silent =
      code == CURLE_OPERATION_TIMEDOUT || (is_of_the_system(code) && is_no_route(error));
  if (!ended_silent || progress_.header_bytes > 0) {
    attempt.heard = ended_silent ? progress_.last_byte : attempt.ended;
    return;
  }
  attempt.silence = delivery::Silence::network;
  curl_off_t handshake = 0;  // of this attempt; 0 on a kept connection
  curl_easy_getinfo(handle(), CURLINFO_APPCONNECT_TIME_T, &handshake);
  long connections = 0;
  curl_easy_getinfo(handle(), CURLINFO_NUM_CONNECTS, &connections);
  if (connections > 0 && handshake > 0) attempt.heard = job_.since + std::chrono::microseconds(handshake);
}

Attempt Transfer::end(CURLcode code) {
  Attempt attempt = attempt_of(job_, transport_result_of(code));
  if (progress_.address) attempt.address = progress_.address->to_string();
  if (progress_.answered) attempt.status = static_cast<int>(status_of(handle()));
  if (delivery::asks_to_wait(attempt)) attempt.retry_after = fields_of(handle(), "Retry-After");
  attempt.signatures = (job_.request.secret ? 1U : 0U) + (job_.request.previous_secret ? 1U : 0U);
  note_signs_of_life(code, attempt);
  job_ = {};
  progress_.dialled = {};
  return attempt;
}

Attempt Transfer::end_undialled(const Dialled& dialled) {
  using enum TransportResult;
  const auto result = !dialled.address        ? address_refused
                      : dialled.timed_out     ? connection_timeout
                      : dialled.local_failure ? local_failure
                                              : connection_failed;
  Attempt attempt = attempt_of(job_, result);
  if (dialled.address) attempt.address = dialled.address->to_string();
  const bool no_sign = dialled.timed_out || is_no_route(dialled.error);
  if (dialled.heard) {
    attempt.heard = dialled.heard;
  } else if (result == connection_timeout || (result == connection_failed && no_sign)) {
    attempt.silence = delivery::Silence::network;
  }
  job_ = {};
  return attempt;
}

Attempt not_made(Job job) { return attempt_of(job, TransportResult::local_failure); }

Attempt unresolved(Job job, bool unanswered) {
  auto attempt = attempt_of(job, TransportResult::name_unresolved);
  if (unanswered) attempt.silence = delivery::Silence::names;
  return attempt;
}

}  // namespace dispatcher
