#include "dispatcher/http/local_fault.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "dispatcher/http/socket.hpp"
#include "dispatcher/http/source.hpp"

namespace dispatcher {

namespace {

/// True: this host has an address from which to reach `address`. Sends nothing.
bool has_source_for(const platform::IpAddress& address) {
  const auto to = socket_address(address, 9);
  const Socket socket(::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
  return socket.fd() < 0 || ::connect(socket.fd(), to.get(), to.length) == 0;
}

}  // namespace

LocalFault fault_of(int error) {
  switch (error) {
    case EMFILE:
      return LocalFault::emfile;
    case ENFILE:
      return LocalFault::enfile;
    case ENOBUFS:
      return LocalFault::enobufs;
    case ENOMEM:
      return LocalFault::enomem;
    case EADDRNOTAVAIL:
      return LocalFault::eaddrnotavail;
    case EPERM:  // this host's packet filter or sandbox
      return LocalFault::eperm;
    default:
      return LocalFault::none;
  }
}

LocalFault fault_of_socket(int error) {
  if (error == EAFNOSUPPORT) return LocalFault::none;
  const auto fault = fault_of(error);
  return fault == LocalFault::none ? LocalFault::other : fault;
}

LocalFault fault_of_connect(int error, const platform::IpAddress& to) {
  if (error == EADDRNOTAVAIL && !has_source_for(to)) return LocalFault::none;
  return fault_of(error);
}

LocalFault fault_of(CURLcode code, LocalFault of_system_call, std::string_view message, bool connected) {
  switch (code) {
    case CURLE_OUT_OF_MEMORY:  // also how libcurl before 8.6 reports a line of more than 100 KB
      return connected ? LocalFault::none : LocalFault::enomem;
    case CURLE_SSL_CACERT_BADFILE:
      return LocalFault::ca_file;
    case CURLE_FAILED_INIT:
    case CURLE_SSL_CIPHER:
      return LocalFault::other;
    case CURLE_SSL_CONNECT_ERROR:
      // OpenSSL's words for a lack of memory.
      if (message.find("malloc failure") != std::string_view::npos) return LocalFault::enomem;
      return of_system_call;
    default:
      return of_system_call;
  }
}

}  // namespace dispatcher
