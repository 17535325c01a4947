// Makes an Attempt of a transfer that ended.
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "dispatcher/http/local_fault.hpp"
#include "dispatcher/http/transfer.hpp"
#include "lib/delivery/classify.hpp"
#include "lib/text/text.hpp"

namespace dispatcher {

namespace {

/// True: a transfer that ended with this code may have failed in a system call, and CURLINFO_OS_ERRNO then
/// has the error of that call. After other codes CURLINFO_OS_ERRNO does not tell why the transfer ended.
bool is_of_the_system(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SEND_ERROR ||
         code == CURLE_RECV_ERROR;
}

/// For each value that is read, libcurl compares the names of all fields: 800 ms in all for 4,500 values in
/// 64 KB.
constexpr std::size_t most_values = 10;

/// The first values of a header field of the final answer, without interim answers and trailers (RFC 9110
/// section 6.5.1).
std::vector<std::string> fields_of(CURL* handle, const char* name) {
  std::vector<std::string> values;
  curl_header* header = nullptr;
  while (values.size() < most_values &&
         curl_easy_header(handle, name, values.size(), CURLH_HEADER, -1, &header) == CURLHE_OK)
    values.emplace_back(text::trim(header->value));
  return values;
}

/// Why the certificate was refused, in terms of what the entity can correct.
TransportResult certificate_ending(CURL* handle) {
  long verified = 0;
  curl_easy_getinfo(handle, CURLINFO_SSL_VERIFYRESULT, &verified);
  switch (verified) {
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED:  // libcurl's initial value, which stays if only the name is wrong
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

}  // namespace

/// True: the receiver asked for a client certificate, got none, and sent no answer (some receivers answer all
/// the same). With TLS 1.2 the handshake then fails; with TLS 1.3 the connection ends after the handshake.
bool Transfer::is_refused_certificate() const {
  return progress_.certificate_wanted && progress_.header_bytes == 0;
}

LocalFault Transfer::local_fault(CURLcode code, bool stopped) const {
  if (progress_.fault != LocalFault::none) return progress_.fault;
  if (code == CURLE_ABORTED_BY_CALLBACK && !progress_.refused) return LocalFault::other;
  long error = 0;
  if (is_of_the_system(code)) curl_easy_getinfo(handle(), CURLINFO_OS_ERRNO, &error);
  const auto of_call =
      progress_.address ? fault_of_connect(static_cast<int>(error), *progress_.address) : LocalFault::none;
  const auto fault = fault_of(code, of_call, progress_.message.data(), progress_.connected);
  return fault == LocalFault::none && code != CURLE_OK && stopped ? LocalFault::stopped : fault;
}

TransportResult Transfer::transport_result_of(CURLcode code, LocalFault fault) const {
  if (progress_.answered) return TransportResult::answered;
  if (progress_.headers_too_long) return TransportResult::headers_too_long;
  if (fault != LocalFault::none) return TransportResult::local_failure;
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
      return TransportResult::address_refused;
    case CURLE_COULDNT_CONNECT:
      if (progress_.port_refused) return TransportResult::port_refused;
      return progress_.refused && !progress_.address ? TransportResult::address_refused
                                                     : TransportResult::connection_failed;
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:  // a line of more than 100 KB
#endif
    case CURLE_OUT_OF_MEMORY:  // how libcurl before 8.6 reports such a line
      return TransportResult::headers_too_long;
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

/// A TCP connection alone is no sign of life: a device on the way may have made it.
void Transfer::note_signs_of_life(CURLcode code, Attempt& attempt) const {
  using enum TransportResult;
  if (attempt.transport == address_refused || attempt.transport == port_refused ||
      attempt.transport == local_failure)
    return;
  long error = 0;
  curl_easy_getinfo(handle(), CURLINFO_OS_ERRNO, &error);
  const bool ended_silent =
      code == CURLE_OPERATION_TIMEDOUT || (is_of_the_system(code) && is_no_route(error));
  if (!ended_silent || progress_.header_bytes > 0) {
    // False: libcurl opened no socket for the address, so no server was asked.
    const bool asked = progress_.connected || progress_.opened >= 0;
    if (asked) attempt.heard = ended_silent ? progress_.last_byte : attempt.ended;
    return;
  }
  attempt.silence = delivery::Silence::network;
  curl_off_t handshake = 0;  // µs from the start of this try to the end of TLS; 0 on a kept connection
  curl_easy_getinfo(handle(), CURLINFO_APPCONNECT_TIME_T, &handshake);
  long connections = 0;
  curl_easy_getinfo(handle(), CURLINFO_NUM_CONNECTS, &connections);
  if (connections > 0 && handshake > 0) attempt.heard = began_ + std::chrono::microseconds(handshake);
}

void Transfer::observe(CURLcode code, delivery::Observation& observed) const {
  using Kept = delivery::Observation::Kept;
  observed.connected = code == CURLE_OK;
  if (progress_.kept && progress_.answered && repeats_ == 0) observed.kept = Kept::used;
  // The request expected a kept connection, but libcurl opened a new one, because it does not use a kept
  // connection that has ended.
  if (observed.kept == Kept::unknown && observed.expects_kept && progress_.connected && !progress_.kept)
    observed.kept = Kept::closed;
  if (!progress_.answered) return;
  long version = 0;
  curl_easy_getinfo(handle(), CURLINFO_HTTP_VERSION, &version);
  observed.says_closed = version == CURL_HTTP_VERSION_1_0;
  for (const auto& value : fields_of(handle(), "Connection"))
    observed.says_closed = observed.says_closed || text::lower(value) == "close";
  observed.left_open = code == CURLE_OK && !observed.says_closed;
}

Attempt Transfer::end(CURLcode code, bool stopped) {
  if (job_.request.observed) observe(code, *job_.request.observed);
  const auto fault = local_fault(code, stopped);
  const auto result = transport_result_of(code, fault);
  if (result == TransportResult::local_failure) job_.fault = fault;
  const auto signatures = signatures_of(job_.request);
  Attempt attempt = attempt_of(std::exchange(job_, {}), result);
  if (progress_.address) attempt.address = progress_.address->to_string();
  if (progress_.answered) attempt.status = progress_.status;
  if (delivery::asks_to_wait(attempt)) attempt.retry_after = fields_of(handle(), "Retry-After");
  attempt.signatures = signatures;
  attempt.certificate_end = progress_.certificate_end;
  note_signs_of_life(code, attempt);
  progress_.observed = nullptr;
  progress_.dialled = {};
  return attempt;
}

Attempt Transfer::end_undialled(const Dialled& dialled, bool stopped) {
  using enum TransportResult;
  job_.fault = dialled.fault == LocalFault::none && stopped ? LocalFault::stopped : dialled.fault;
  const auto result = job_.fault != LocalFault::none                               ? local_failure
                      : !dialled.address                                           ? address_refused
                      : !dialled.timed_out                                         ? connection_failed
                      : platform::monotonic_now() < job_.since + settings_.timeout ? connection_timeout
                                                                                   : timeout;
  Attempt attempt = attempt_of(std::exchange(job_, {}), result);
  if (dialled.address) attempt.address = dialled.address->to_string();
  if (dialled.heard) {
    attempt.heard = dialled.heard;
  } else if (result != local_failure && (dialled.timed_out || is_no_route(dialled.error))) {
    attempt.silence = delivery::Silence::network;
  }
  progress_.observed = nullptr;
  return attempt;
}

}  // namespace dispatcher
