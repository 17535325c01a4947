#include "http/transfer.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string_view>

#include "http/connection_pools.hpp"
#include "http/request.hpp"
#include "platform/text.hpp"
#include "webhook/address_policy.hpp"
#include "webhook/target_url.hpp"

namespace dispatcher {

namespace {

constexpr long receive_buffer =
    4096;  // bytes of each attempt in flight; answers are short, and their text unread

/// Every candidate address of every name comes by here before it is dialled, whatever its spelling
/// (docs/security.md).
curl_socket_t open_socket(void* data, curlsocktype /*purpose*/, curl_sockaddr* candidate) {
  auto& progress = *static_cast<Progress*>(data);
  const auto address = platform::IpAddress::from_sockaddr(&candidate->addr);
  if (!address || !webhook::may_connect(*address, progress.host, *progress.settings)) {
    progress.refused = true;  // libcurl reports it like a closed port
    return CURL_SOCKET_BAD;
  }
  progress.address = address;
  const int fd = ::socket(candidate->family, candidate->socktype | SOCK_CLOEXEC, candidate->protocol);
  // A family that this host does not have (EAFNOSUPPORT) is no failure: libcurl tries the next address.
  if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
    progress.local_failure = true;
  if (fd < 0) return CURL_SOCKET_BAD;
  ++*progress.sockets;
  return fd;
}

int close_socket(void* sockets, curl_socket_t fd) {
  --*static_cast<unsigned*>(sockets);
  return ::close(fd);
}

/// Just before the request, also on a reused connection, for which open_socket is not asked.
int before_request(void* data, char* remote_ip, char* /*local_ip*/, int /*remote_port*/, int /*local_port*/) {
  auto& progress = *static_cast<Progress*>(data);
  progress.connected = true;
  progress.address = platform::IpAddress::parse(remote_ip);
  if (progress.address && webhook::may_connect(*progress.address, progress.host, *progress.settings))
    return CURL_PREREQFUNC_OK;
  progress.refused = true;
  return CURL_PREREQFUNC_ABORT;
}

/// libcurl is about to look a name up by itself, in a thread: it never needs to, and must not.
int refuse_lookup(void* /*resolver*/, void* /*reserved*/, void* data) {
  auto& progress = *static_cast<Progress*>(data);
  if (progress.literal) return 0;
  progress.refused = true;
  return 1;
}

/// `HTTP/1.1 204 …` -> 204; 0 for anything else.
int status_of(std::string_view line) {
  const auto space = line.find(' ');
  if (!line.starts_with("HTTP/") || space == std::string_view::npos) return 0;
  const auto code = line.substr(space + 1, 3);
  return platform::has_shape(code, "000") ? platform::parse_number<int>(code).value() : 0;
}

bool is_header(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         platform::equal_ignoring_case(line.substr(0, name.size()), name);
}

/// Of a line with its end. A CR elsewhere counts as a blank, too (RFC 9110 section 5.5).
std::string header_value(std::string_view line) {
  return std::string(platform::trim(line.substr(line.find(':') + 1)));
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
  if (const int status = status_of(line)) {
    progress.status = status;
  } else if (is_header(line, "Retry-After")) {
    progress.retry_after = header_value(line);
  } else if (line == "\r\n" || line == "\n") {
    progress.answered = progress.status >= 200;
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

/// The system itself says that there is no way to the receiver.
bool is_no_route(long error, CURLcode code) {
  if (code != CURLE_COULDNT_CONNECT && code != CURLE_SSL_CONNECT_ERROR && code != CURLE_SEND_ERROR &&
      code != CURLE_RECV_ERROR)
    return false;
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

template <class T>
void set(CURL* handle, CURLoption option, T value) {
  if (const auto code = curl_easy_setopt(handle, option, value); code != CURLE_OK) {
    throw std::runtime_error(std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
  }
}

/// OpenSSL's X509_V_ERR_* numbers that tell the entity something it can mend.
TransportResult certificate_ending(CURL* handle) {
  constexpr long unspecified =
      1;  // what libcurl begins with and leaves when the chain is good and the name is not
  constexpr long not_yet_valid = 9;
  constexpr long expired = 10;
  long verified = 0;
  curl_easy_getinfo(handle, CURLINFO_SSL_VERIFYRESULT, &verified);
  if (verified == not_yet_valid || verified == expired) return TransportResult::tls_expired;
  return verified == 0 || verified == unspecified ? TransportResult::tls_wrong_name
                                                  : TransportResult::tls_untrusted;
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

Transfer::Transfer(const platform::DeliverySettings& settings, unsigned& sockets)
    : settings_(settings), sockets_(sockets), names_(curl_share_init()), handle_(curl_easy_init()) {
  if (!handle_ || !names_ ||
      curl_share_setopt(names_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) != CURLSHE_OK)
    throw std::runtime_error("libcurl cannot make a handle");
  set(handle(), CURLOPT_PRIVATE, this);
  set(handle(), CURLOPT_SHARE, names_.get());
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
  progress_.sockets = &sockets_;
  const auto host = webhook::host_and_port(job_.request.url);
  progress_.host = webhook::host_name(host);
  progress_.literal = addresses.empty();
  set_addresses(route, addresses);
  set_request();
  set_time_outs();
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
}

void Transfer::set_callbacks() {
  set(handle(), CURLOPT_RESOLVER_START_FUNCTION, &refuse_lookup);
  set(handle(), CURLOPT_RESOLVER_START_DATA, &progress_);
  set(handle(), CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(handle(), CURLOPT_OPENSOCKETDATA, &progress_);
  set(handle(), CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  set(handle(), CURLOPT_CLOSESOCKETDATA, &sockets_);
  set(handle(), CURLOPT_PREREQFUNCTION, &before_request);
  set(handle(), CURLOPT_PREREQDATA, &progress_);
  set(handle(), CURLOPT_HEADERFUNCTION, &read_header);
  set(handle(), CURLOPT_HEADERDATA, &progress_);
  set(handle(), CURLOPT_WRITEFUNCTION, &read_body);
  set(handle(), CURLOPT_WRITEDATA, &progress_);
}

void Transfer::set_addresses(const Route& route, const Addresses& addresses) {
  resolve_.reset();
  if (!forget_.empty()) append(resolve_, forget_);
  forget_.clear();
  if (!addresses.empty()) {
    append(resolve_, resolve_line(route, addresses));
    forget_ = forget_line(route);
  }
  set(handle(), CURLOPT_RESOLVE, resolve_.get());
}

void Transfer::set_request() {
  const auto& request = job_.request;
  const bool handshake = request.purpose == Request::Purpose::handshake;
  set(handle(), CURLOPT_URL, request.url.c_str());
  set(handle(), CURLOPT_CONNECT_ONLY, handshake ? 1L : 0L);
  set(handle(), CURLOPT_FRESH_CONNECT, handshake ? 1L : 0L);
  if (handshake) return;
  set(handle(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(handle(), CURLOPT_POSTFIELDS, request.body.data());
  headers_.reset();
  // No 100-continue: it costs a round trip, or a second with receivers that ignore it.
  append(headers_, "Expect:");
  for (const auto& header : headers_of(request, job_.started)) append(headers_, header);
  set(handle(), CURLOPT_HTTPHEADER, headers_.get());
}

void Transfer::set_time_outs() {
  const auto spent = std::chrono::floor<platform::Milliseconds>(platform::monotonic_now() - job_.since);
  const auto left = [spent](platform::Milliseconds whole) {
    return static_cast<long>(std::max((whole - spent).count(), platform::Milliseconds::rep{1}));  // 0 is none
  };
  set(handle(), CURLOPT_TIMEOUT_MS, left(settings_.timeout));
  set(handle(), CURLOPT_CONNECTTIMEOUT_MS, left(settings_.connect_timeout));
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
      return TransportResult::tls_failed;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
      return TransportResult::closed;
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
  const bool ended_silent = code == CURLE_OPERATION_TIMEDOUT || is_no_route(error, code);
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
  attempt.status = progress_.status;
  attempt.signatures = (job_.request.secret ? 1U : 0U) + (job_.request.previous_secret ? 1U : 0U);
  attempt.retry_after = std::move(progress_.retry_after);
  note_signs_of_life(code, attempt);
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
