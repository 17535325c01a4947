#include "tests/fakes/tls_server.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace fakes {

namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* value) const {
    Free(value);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Tls = std::unique_ptr<SSL, Deleter<SSL_free>>;

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(what);
}

void add_extension(X509* certificate, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "extension");
}

Certificate self_signed(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  constexpr long day = 86'400;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_set_version(certificate.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -day);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), day);
  X509_set_pubkey(certificate.get(), key);
  auto* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("tests"), -1,
                             -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate.get(), NID_subject_alt_name, "DNS:*.receptor.test");
  require(X509_sign(certificate.get(), key, EVP_sha256()) > 0, "certificate");
  return certificate;
}

std::string write_certificate(X509* certificate) {
  std::string path = "/tmp/apie-tls-XXXXXX";
  const int fd = ::mkstemp(path.data());
  require(fd >= 0, "temporary file");
  std::FILE* file = ::fdopen(fd, "w");
  require(file != nullptr && PEM_write_X509(file, certificate) == 1, "certificate's file");
  std::fclose(file);
  return path;
}

/// Length of the request at the start of `text`; 0 while it is incomplete.
std::size_t request_size(std::string_view text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  constexpr std::string_view name = "Content-Length: ";
  const auto at = text.substr(0, end).find(name);
  std::size_t length = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + name.size(), text.data() + end, length);
  const auto size = end + 4 + length;
  return text.size() >= size ? size : 0;
}

}  // namespace

bool TlsConnection::send(std::string_view bytes) {
  return bytes.empty() || SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

namespace {

/// Returns the bytes that `send` would send.
template <class F>
std::string sealed(ssl_st* tls, F&& send) {
  BIO* const socket = SSL_get_wbio(tls);
  BIO_up_ref(socket);
  BIO* const memory = BIO_new(BIO_s_mem());
  SSL_set0_wbio(tls, memory);
  send();
  const char* text = nullptr;
  const auto size = BIO_get_mem_data(memory, &text);
  std::string bytes(text, static_cast<std::size_t>(size));
  SSL_set0_wbio(tls, socket);
  return bytes;
}

}  // namespace

std::string TlsConnection::seal(std::string_view bytes) {
  return sealed(tls_, [&] { send(bytes); });
}

std::string TlsConnection::seal_tickets(int count) {
  return sealed(tls_, [&] {
    for (int i = 0; i < count; ++i) require(send_ticket(), "ticket");
  });
}

bool TlsConnection::send_raw(std::string_view bytes) {
  return ::send(SSL_get_fd(tls_), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

bool TlsConnection::send_ticket() { return SSL_new_session_ticket(tls_) == 1 && SSL_do_handshake(tls_) == 1; }

bool TlsConnection::renegotiate() {
  if (SSL_renegotiate(tls_) != 1 || SSL_do_handshake(tls_) != 1) return false;
  // Without AUTO_RETRY, SSL_peek returns as soon as it has read the handshake, and does not wait for data.
  SSL_clear_mode(tls_, SSL_MODE_AUTO_RETRY);
  char byte = 0;
  const int result = SSL_peek(tls_, &byte, 1);
  SSL_set_mode(tls_, SSL_MODE_AUTO_RETRY);
  return SSL_get_error(tls_, result) == SSL_ERROR_WANT_READ;
}

class TlsServer::Impl {
 public:
  Impl(Script script, const TlsOptions& options)
      : script_(std::move(script)), key_(EVP_EC_gen("P-256")), context_(SSL_CTX_new(TLS_server_method())) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that the other side has closed
    require(key_ && context_, "TLS");
    const auto certificate = self_signed(key_.get());
    ca_file_ = write_certificate(certificate.get());
    require(SSL_CTX_use_certificate(context_.get(), certificate.get()) == 1 &&
                SSL_CTX_use_PrivateKey(context_.get(), key_.get()) == 1,
            "certificate");
    require(options.groups == nullptr || SSL_CTX_set1_groups_list(context_.get(), options.groups) == 1,
            "groups");
    const int version = options.old ? TLS1_2_VERSION : TLS1_3_VERSION;
    SSL_CTX_set_min_proto_version(context_.get(), version);
    SSL_CTX_set_max_proto_version(context_.get(), version);
    if (options.old) {  // no session is resumed: each handshake is a whole one
      SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_OFF);
      SSL_CTX_set_options(context_.get(), SSL_OP_NO_TICKET);
    }
    SSL_CTX_set_mode(context_.get(), SSL_MODE_AUTO_RETRY);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener_, generic, size) == 0 && ::listen(listener_, 64) == 0 &&
                ::getsockname(listener_, generic, &size) == 0,
            "listening socket");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept(); });
  }

  ~Impl() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& served : served_) served.thread.join();
    ::unlink(ca_file_.c_str());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int port() const { return port_; }
  const std::string& ca_file() const { return ca_file_; }
  int connections() const { return connections_; }

 private:
  void accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      join_ended();
      const std::lock_guard lock(mutex_);
      open_.insert(fd);
      auto& served = served_.emplace_back();
      served.thread = std::thread([this, fd, &served, number = ++connections_] {
        serve(fd, number);
        const std::lock_guard closing(mutex_);
        open_.erase(fd);
        ::close(fd);
        served.ended = true;
      });
    }
  }

  void join_ended() {
    const std::lock_guard lock(mutex_);
    served_.remove_if([](Served& served) {
      if (served.ended) served.thread.join();
      return served.ended;
    });
  }

  void serve(int fd, int number) {
    const Tls tls(SSL_new(context_.get()));
    if (!tls || SSL_set_fd(tls.get(), fd) != 1 || SSL_accept(tls.get()) != 1) return;
    TlsConnection connection(tls.get(), number);
    std::string input;
    while (!stopping_) {
      if (SSL_pending(tls.get()) == 0 && !is_readable(fd)) {
        if (!script_(connection, {})) break;
        continue;
      }
      std::array<char, 16'384> buffer{};
      const int got = SSL_read(tls.get(), buffer.data(), buffer.size());
      if (got <= 0) return;
      input.append(buffer.data(), static_cast<std::size_t>(got));
      while (const auto size = request_size(input)) {
        const bool goes_on = script_(connection, std::string_view(input).substr(0, size));
        input.erase(0, size);
        if (!goes_on) {
          SSL_shutdown(tls.get());
          return;
        }
      }
    }
    SSL_shutdown(tls.get());
  }

  static bool is_readable(int fd) {
    constexpr int moment_ms = 1;
    pollfd ready{fd, POLLIN, 0};
    return ::poll(&ready, 1, moment_ms) > 0;
  }

  Script script_;
  Key key_;
  Context context_;
  std::string ca_file_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::set<int> open_;
  struct Served {
    std::thread thread;
    bool ended = false;
  };
  std::list<Served> served_;
  std::thread acceptor_;
};

TlsServer::TlsServer(Script script, const TlsOptions& options)
    : impl_(std::make_unique<Impl>(std::move(script), options)) {}
TlsServer::~TlsServer() = default;
int TlsServer::port() const { return impl_->port(); }
const std::string& TlsServer::ca_file() const { return impl_->ca_file(); }
int TlsServer::connections() const { return impl_->connections(); }

}  // namespace fakes
