#include "dispatcher/http/tls_connection.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace dispatcher {

namespace {

/// Index at which an SSL object keeps its socket's descriptor, which libcurl's BIO does not give.
int socket_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Index at which an SSL object keeps the time when its connection was made, in milliseconds of the monotonic
/// clock.
int time_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Index at which an SSL object counts towards most_handshake_parts.
int count_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// Index at which an SSL object keeps how many bytes of records it may still read, plus one; 0: no limit.
int bytes_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

/// What a receiver may send as its certificates. OpenSSL decodes the keys of all of them before it verifies
/// anything; a key in compressed form on the curve P-224 takes 0.8 ms.
constexpr unsigned most_certificates = 10;
constexpr long longest_certificates = 32'768;  // in bytes; OpenSSL limits CertificateRequest by it, too

/// Until the next request a connection may receive this many handshake messages and records that carry them,
/// counted together. A handshake has a dozen; only a long chain of certificates in short records has more.
/// KeyUpdates that ask for a KeyUpdate in return are costly: the 150 that this limit allows take 4 ms in all.
constexpr std::intptr_t most_handshake_parts = 300;
/// The message with the certificates counts as this many parts, which allows two renegotiations (TLS 1.2).
constexpr std::intptr_t certificates_as_parts = 100;

void store(SSL* tls, int index, std::intptr_t number) {
  SSL_set_ex_data(tls, index, reinterpret_cast<void*>(number));  // NOLINT(performance-no-int-to-ptr)
}

std::intptr_t stored(const SSL* tls, int index) {
  return reinterpret_cast<std::intptr_t>(SSL_get_ex_data(tls, index));
}

std::intptr_t milliseconds(platform::MonotonicTime time) {
  return std::chrono::floor<platform::Milliseconds>(time.time_since_epoch()).count();
}

/// nullptr: the handle has no TLS connection.
SSL* tls_of(CURL* handle) {
  const curl_tlssessioninfo* info = nullptr;
  if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == nullptr) return nullptr;
  return info->backend == CURLSSLBACKEND_OPENSSL ? static_cast<SSL*>(info->internals) : nullptr;
}

/// True: the socket's buffer is empty, and the connection is open.
bool is_empty(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

/// While this object exists, OpenSSL uses the socket directly. Otherwise it uses libcurl's BIO, which works
/// only while libcurl reads or writes.
class DirectSocket {
 public:
  DirectSocket(SSL* tls, int fd) : tls_(tls), read_(SSL_get_rbio(tls)), write_(SSL_get_wbio(tls)) {
    BIO* direct = BIO_new_socket(fd, BIO_NOCLOSE);
    if (direct == nullptr) return;
    made_ = true;
    BIO_up_ref(read_);
    BIO_up_ref(write_);
    BIO_up_ref(direct);
    SSL_set0_rbio(tls_, direct);
    SSL_set0_wbio(tls_, direct);
  }
  ~DirectSocket() {
    if (!made_) return;
    SSL_set0_rbio(tls_, read_);
    SSL_set0_wbio(tls_, write_);
  }
  DirectSocket(const DirectSocket&) = delete;
  DirectSocket& operator=(const DirectSocket&) = delete;

  bool made() const { return made_; }

 private:
  SSL* tls_;
  BIO* read_;
  BIO* write_;
  bool made_ = false;
};

/// True: the socket holds only session tickets. Lets OpenSSL process the tickets; data that follows them can
/// still be read.
bool holds_session_tickets_alone(SSL* tls, int fd) {
  const DirectSocket direct(tls, fd);
  if (!direct.made()) return false;
  ERR_clear_error();
  char byte = 0;
  const int result = SSL_peek(tls, &byte, 1);
  // SSL_has_pending: part of a record has come, and the rest is still on its way.
  const bool quiet = result <= 0 && SSL_get_error(tls, result) == SSL_ERROR_WANT_READ &&
                     SSL_is_init_finished(tls) && SSL_has_pending(tls) == 0;
  ERR_clear_error();
  return quiet;
}

/// The descriptor that remember_connection() stored; -1: none.
int socket_of(const SSL* tls) { return static_cast<int>(stored(tls, socket_index()) - 1); }

platform::UtcTime time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return platform::UtcTime(std::chrono::seconds(::timegm(&parts)));
}

/// True: OpenSSL tells of a handshake message, or of a record with a part of one.
bool is_handshake_part(int kind, const void* bytes) {
  const int first = *static_cast<const unsigned char*>(bytes);
  return kind == SSL3_RT_HANDSHAKE ||
         ((kind == SSL3_RT_HEADER || kind == SSL3_RT_INNER_CONTENT_TYPE) && first == SSL3_RT_HANDSHAKE);
}

/// Takes a number of `size` bytes off the front of `bytes`; 0: `bytes` is too short.
std::size_t take_number(std::string_view& bytes, std::size_t size) {
  std::size_t number = 0;
  if (bytes.size() < size) bytes = {};
  for (const char byte : bytes.substr(0, size)) number = number << 8U | static_cast<unsigned char>(byte);
  bytes.remove_prefix(std::min(size, bytes.size()));
  return number;
}

/// Counts the certificates in a Certificate message (RFC 8446 section 4.4.2, RFC 5246 section 7.4.2). In a
/// malformed message it counts at least those that OpenSSL decodes before it finds the error.
unsigned count_certificates(std::string_view message, bool has_extensions) {
  take_number(message, 4);                      // kind and length
  if (has_extensions) take_number(message, 1);  // the context, which is empty
  take_number(message, 3);
  unsigned count = 0;
  for (; !message.empty(); ++count) {
    message.remove_prefix(std::min(take_number(message, 3), message.size()));
    if (has_extensions) message.remove_prefix(std::min(take_number(message, 2), message.size()));
  }
  return count;
}

/// True: a key describes its curve instead of naming it, although RFC 5480 section 2.1.1 demands a name. To
/// decode a compressed point of such a curve can take 150 ms. Each description names the kind of the curve's
/// field, by an identifier that begins with 1.2.840.10045.1.
bool has_own_curve(std::string_view message) {
  constexpr std::string_view field = "\x2a\x86\x48\xce\x3d\x01";
  return message.find(field) != std::string_view::npos;
}

/// Called with the Certificate message before OpenSSL decodes it.
void refuse_if_costly(SSL* tls, std::string_view message) {
  if (count_certificates(message, SSL_version(tls) == TLS1_3_VERSION) <= most_certificates &&
      !has_own_curve(message))
    return;
  // OpenSSL has no way to refuse a message here. The byte after the header is the first of a length (TLS 1.3:
  // the context's, TLS 1.2: the list's). With 0xff there the message cannot be decoded.
  const_cast<char&>(message[SSL3_HM_HEADER_LENGTH]) = '\xff';
}

/// From then on OpenSSL throws away what comes, and libcurl takes the connection for ended.
void end_connection(SSL* tls) { SSL_set_shutdown(tls, SSL_get_shutdown(tls) | SSL_RECEIVED_SHUTDOWN); }

/// Called with the header of a record (RFC 8446 section 5.1): kind, version, length.
void count_bytes(SSL* tls, std::string_view header) {
  const auto left = stored(tls, bytes_index());
  if (left == 0) return;
  header.remove_prefix(3);
  const auto after = left - static_cast<std::intptr_t>(take_number(header, 2));
  store(tls, bytes_index(), std::max(after, std::intptr_t{1}));
  if (after < 1) end_connection(tls);
}

/// True: OpenSSL tells of the alert that ends a connection (RFC 8446 section 6.1).
bool is_end(int kind, std::string_view message) {
  return kind == SSL3_RT_ALERT && message.size() == 2 && message.back() == SSL3_AD_CLOSE_NOTIFY;
}

void look_at_message(int written, int /*version*/, int kind, const void* bytes, std::size_t size, SSL* tls,
                     void* /*argument*/) {
  if (size == 0) return;
  if (written != 0) {
    // After our close_notify, libcurl 8.14 would keep the socket until the receiver ends the connection, too.
    // If the receiver does not end it, libcurl would close the socket after 2 s, but only if another request
    // follows.
    if (is_end(kind, {static_cast<const char*>(bytes), size})) end_connection(tls);
    return;
  }
  const std::string_view message(static_cast<const char*>(bytes), size);
  if (kind == SSL3_RT_HEADER && size == SSL3_RT_HEADER_LENGTH) count_bytes(tls, message);
  if (!is_handshake_part(kind, bytes)) return;
  const bool certificates =
      kind == SSL3_RT_HANDSHAKE && size > SSL3_HM_HEADER_LENGTH && message.front() == SSL3_MT_CERTIFICATE;
  if (certificates) refuse_if_costly(tls, message);
  const auto count = stored(tls, count_index()) + (certificates ? certificates_as_parts : 1);
  store(tls, count_index(), count);
  if (count > most_handshake_parts) end_connection(tls);
}

int offer_no_certificate(SSL* tls, X509** /*certificate*/, EVP_PKEY** /*key*/) {
  if (auto* wanted = static_cast<bool*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls)))) *wanted = true;
  return 0;
}

}  // namespace

// Stores descriptor + 1, because an SSL object without a descriptor has nullptr, which is 0.
void remember_connection(CURL* handle, int fd, platform::MonotonicTime now) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr) return;
  store(tls, socket_index(), std::intptr_t{fd} + 1);
  store(tls, time_index(), milliseconds(now));
  // If the receiver asks for a client certificate later, that is not noted: the variable that
  // note_wanted_certificate() was given may belong to another transfer by then.
  SSL_CTX_set_app_data(SSL_get_SSL_CTX(tls), nullptr);
}

platform::MonotonicTime::duration age_of_connection(CURL* handle, platform::MonotonicTime now) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr) return {};
  return platform::Milliseconds(milliseconds(now) - stored(tls, time_index()));
}

bool is_quiet(CURL* handle) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr) return false;
  const int fd = socket_of(tls);
  if (fd < 0) return false;
  if (SSL_has_pending(tls) == 0 && is_empty(fd)) return true;
  return holds_session_tickets_alone(tls, fd);
}

bool holds_data(CURL* handle) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr || socket_of(tls) < 0) return false;
  const DirectSocket direct(tls, socket_of(tls));
  if (!direct.made()) return false;
  ERR_clear_error();
  char byte = 0;
  const bool data = SSL_peek(tls, &byte, 1) > 0;
  ERR_clear_error();
  return data;
}

void allow_messages(CURL* handle, std::size_t bytes) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr) return;
  store(tls, count_index(), 0);
  store(tls, bytes_index(), static_cast<std::intptr_t>(bytes) + 1);
}

std::optional<delivery::TlsFacts> tls_facts(CURL* handle) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr) return std::nullopt;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls), X509_free);
  if (!certificate) return std::nullopt;
  const auto* chain = SSL_get_peer_cert_chain(tls);
  std::string version = SSL_get_version(tls);  // "TLSv1.3"
  if (version.starts_with("TLSv")) version.replace(3, 1, " ");
  return delivery::TlsFacts{std::move(version),
                            static_cast<unsigned>(chain == nullptr ? 1 : sk_X509_num(chain)),
                            time_of(X509_get0_notAfter(certificate.get()))};
}

std::optional<platform::UtcTime> certificate_end(CURL* handle) {
  SSL* tls = tls_of(handle);
  if (tls == nullptr) return std::nullopt;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls), X509_free);
  if (!certificate) return std::nullopt;
  return time_of(X509_get0_notAfter(certificate.get()));
}

void note_wanted_certificate(void* tls_context, bool* wanted) {
  auto* context = static_cast<SSL_CTX*>(tls_context);
  SSL_CTX_set_app_data(context, wanted);
  SSL_CTX_set_client_cert_cb(context, &offer_no_certificate);
}

void limit_handshake(void* tls_context) {
  auto* context = static_cast<SSL_CTX*>(tls_context);
  SSL_CTX_set_msg_callback(context, &look_at_message);
  SSL_CTX_set_max_cert_list(context, longest_certificates);
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
  // look_at_message() cannot read compressed certificates.
  SSL_CTX_set_options(context, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
#endif
}

}  // namespace dispatcher
