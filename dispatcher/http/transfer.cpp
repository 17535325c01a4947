#include "dispatcher/http/transfer.hpp"

#include <openssl/opensslv.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/request.hpp"
#include "dispatcher/http/route.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

/// OpenSSL's groups without finite fields: a handshake with ffdhe8192 takes 100 ms of the network's thread.
#if OPENSSL_VERSION_NUMBER >= 0x30500000L
constexpr const char* groups = "DEFAULT:-ffdhe2048:-ffdhe3072";
#else
constexpr const char* groups = "X25519:P-256:X448:P-521:P-384";
#endif

constexpr platform::Milliseconds never = std::chrono::hours(24);
constexpr long receive_buffer = 4096;  // in bytes; answers are short, and their bodies are discarded

}  // namespace

Transfer::Transfer(const config::DeliverySettings& settings, Connections& connections)
    : settings_(settings), connections_(connections), names_(curl_share_init()) {
  if (!names_ || curl_share_setopt(names_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) != CURLSHE_OK)
    throw std::runtime_error("libcurl cannot make a handle");
  begin_try();
}

/// A handle serves one try, because libcurl 7.88 keeps a pointer to the last header field of an answer after
/// the memory is freed, and writes there if the next answer begins with a folded line. A new handle costs 1
/// microsecond.
void Transfer::renew_handle() {
  std::unique_ptr<CURL, HandleDeleter> handle(curl_easy_init());
  if (!handle) throw std::runtime_error("libcurl cannot make a handle");
  handle_ = std::move(handle);
  set_option(this->handle(), CURLOPT_PRIVATE, this);
  set_option(this->handle(), CURLOPT_SHARE, names_.get());
  set_protocol_options();
  set_tls_options();
  progress_.handle = this->handle();
  set_callbacks(progress_);
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

void Transfer::begin(Job job) {
  progress_ = {};  // first: if a later line throws, this attempt must not end with the former one's result
  job_ = std::move(job);
  host_name_ = webhook::host_name(webhook::host_and_port(job_.request.url));
  repeats_ = 0;
  expects_continue_ = false;
  connecting_since_ = job_.since;
  begin_try();
  set_addresses(job_.addresses);
  set_request(job_.request.purpose == Request::Purpose::handshake || job_.request.new_connection);
}

void Transfer::begin_on(Socket socket, const platform::IpAddress& address) {
  begin_try();
  progress_.dialled = std::move(socket);
  // The URL's own address is not looked up.
  set_addresses(progress_.literal ? Addresses{} : Addresses{address});
  set_request(true);
}

void Transfer::begin_again() {
  ++repeats_;
  using Kept = delivery::Observation::Kept;
  if (auto* observed = progress_.observed;
      observed != nullptr && (progress_.kept || progress_.stale) && observed->kept == Kept::unknown)
    observed->kept = Kept::closed;
  // A reset while the body is written loses an answer that has arrived. With 100-continue libcurl reads the
  // answer first.
  if (!progress_.stale && !progress_.kept) expects_continue_ = true;
  connecting_since_ = platform::monotonic_now();
  begin_try();
  set_request(true);
}

/// Makes a new handle and callbacks, without any state of an earlier try.
void Transfer::begin_try() {
  progress_ = {};
  progress_.settings = &settings_;
  progress_.connections = &connections_;
  progress_.observed = job_.request.observed.get();
  progress_.host = host_name_;
  progress_.life = connection_life(job_.request.host);
  progress_.literal = job_.addresses.empty();
  progress_.deadline = connect_deadline();
  began_ = platform::monotonic_now();
  renew_handle();
}

platform::MonotonicTime Transfer::connect_deadline() const {
  return std::min(connecting_since_ + settings_.connect_timeout, job_.since + settings_.timeout);
}

Transfer::Dial Transfer::begin_dial(platform::MonotonicTime::duration waited) {
  job_.since += waited;
  connecting_since_ += waited;
  const auto& found = job_.addresses;
  return {host_name_, progress_.port,
          found.empty() && progress_.address ? Addresses{*progress_.address} : found, connect_deadline()};
}

std::optional<platform::MonotonicTime> Transfer::deadline() const {
  if (job_.request.url.empty() || progress_.interrupted) return std::nullopt;
  return progress_.connected ? job_.since + settings_.timeout : connect_deadline();
}

bool Transfer::needs_fresh_connection(CURLcode code) const {
  if (repeats_ == most_repeats) return false;
  if (progress_.stale) return true;
  if (!progress_.connected) return false;
  // Many servers send a 408 when an idle connection expires; the 408 may cross the request.
  if (progress_.answered) return progress_.kept && progress_.status == 408;
  if (progress_.header_bytes > 0) return false;
  if (!progress_.kept) return code == CURLE_SEND_ERROR && !expects_continue_;
  return code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR;
}

void Transfer::set_protocol_options() {
  set_option(handle(), CURLOPT_PROTOCOLS_STR, "https");
  set_option(handle(), CURLOPT_FOLLOWLOCATION, 0L);
  set_option(handle(), CURLOPT_PROXY, "");  // ignores the environment
  set_option(handle(), CURLOPT_NOSIGNAL, 1L);
  // Over HTTP/2, six of ten requests fail with libcurl 7.88 if the receiver answers before it has read the
  // body. With libcurl 8.14 none fails.
  set_option(handle(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set_option(handle(), CURLOPT_POST, 1L);
  set_option(handle(), CURLOPT_PATH_AS_IS, 1L);  // the path that the entity registered, dot segments included
  // libcurl applies this limit to all hosts. before_request (callbacks.cpp) applies the host's own, shorter
  // connection_life.
  set_option(handle(), CURLOPT_MAXLIFETIME_CONN, static_cast<long>(longest_life.count()));
  set_option(handle(), CURLOPT_USERAGENT, "apientidades/" APIENTIDADES_VERSION);
  set_option(handle(), CURLOPT_BUFFERSIZE, receive_buffer);
  // libcurl judges its time-outs before it reads the socket, so an answer that came while this process was
  // stopped would be lost. Transfers ends what is overdue instead.
  set_option(handle(), CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(never.count()));
  set_option(handle(), CURLOPT_DNS_CACHE_TIMEOUT, -1L);  // set_addresses removes what it adds
}

void Transfer::set_tls_options() {
  set_option(handle(), CURLOPT_SSL_VERIFYPEER, 1L);
  set_option(handle(), CURLOPT_SSL_VERIFYHOST, 2L);
  set_option(handle(), CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // Without DHE, in which the receiver chooses the prime: a prime of 10,000 bits takes half a second of the
  // network's thread.
  set_option(handle(), CURLOPT_SSL_CIPHER_LIST, "DEFAULT:!kDHE");
  set_option(handle(), CURLOPT_SSL_EC_CURVES, groups);
  set_option(handle(), CURLOPT_CAINFO, settings_.ca_file.c_str());
  // With Debian's default CAPATH, libcurl parses the bundle for every connection, which takes 29 ms (libcurl
  // 7.88) or 8 ms (8.14) of processor time instead of 1 ms.
  set_option(handle(), CURLOPT_CAPATH, static_cast<char*>(nullptr));
  // Resumed TLS sessions would rarely be useful, because connections are kept. Sessions take memory: libcurl
  // keeps five per handle.
  set_option(handle(), CURLOPT_SSL_SESSIONID_CACHE, 0L);
}

/// Replaces what the last request left in the transfer's DNS cache.
void Transfer::set_addresses(const Addresses& addresses) {
  resolve_.reset();
  if (!cached_.empty()) append(resolve_, forget_line(cached_));
  cached_.clear();
  if (!addresses.empty()) {
    append(resolve_, resolve_line(job_.cache_key, addresses));
    cached_ = job_.cache_key;
  }
  set_option(handle(), CURLOPT_RESOLVE, resolve_.get());
}

void Transfer::set_request(bool fresh_connection) {
  const auto& request = job_.request;
  const bool handshake = request.purpose != Request::Purpose::deliver;
  set_option(handle(), CURLOPT_URL, request.url.c_str());
  set_option(handle(), CURLOPT_CONNECT_ONLY, handshake ? 1L : 0L);
  set_option(handle(), CURLOPT_FRESH_CONNECT, fresh_connection ? 1L : 0L);
  if (handshake) set_option(handle(), CURLOPT_FORBID_REUSE, 1L);
  if (handshake) return;
  set_option(handle(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set_option(handle(), CURLOPT_POSTFIELDS, request.body.data());
  headers_.reset();
  // 100-continue costs a round trip, or a second with receivers that ignore it.
  append(headers_, expects_continue_ ? "Expect: 100-continue" : "Expect:");
  for (const auto& header : request.headers.empty() ? headers_of(request, job_.started) : request.headers)
    append(headers_, header);
  set_option(handle(), CURLOPT_HTTPHEADER, headers_.get());
}

}  // namespace dispatcher
