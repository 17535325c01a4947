// A library to preload into a node of Group Replication: cuts the node off from its group, not from its
// clients. While the file that the variable CUT_OFF names exists, traffic of the ports in CUT_OFF_PORTS
// (separated by commas) fails as on a broken network. Group Replication has no switch for this, and a packet
// filter would need root.

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool is_group_port(const sockaddr_storage& address) {
  // The port has the same offset in sockaddr_in and sockaddr_in6.
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return false;
  const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  const auto list = "," + std::string(variable("CUT_OFF_PORTS")) + ",";
  return list.find("," + std::to_string(port) + ",") != std::string::npos;
}

template <class F>
bool is_group_end(F* name_of, int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return name_of(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 && is_group_port(address);
}

bool is_cut() {
  const auto file = variable("CUT_OFF");
  const int before = errno;
  const bool found = !file.empty() && access(file.data(), F_OK) == 0;
  errno = before;
  return found;
}

bool is_cut(int fd) {
  const int before = errno;
  const bool cut = is_cut() && (is_group_end(getsockname, fd) || is_group_end(getpeername, fd));
  errno = before;
  return cut;
}

int broken(int error) {
  errno = error;
  return -1;
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// These replace the C library's functions. OpenSSL uses `read` and `write` for the group's connections.
ssize_t read(int fd, void* buffer, size_t size) {
  static auto* const real = next<decltype(read)>("read");
  return is_cut(fd) ? broken(ECONNRESET) : real(fd, buffer, size);
}

ssize_t write(int fd, const void* buffer, size_t size) {
  static auto* const real = next<decltype(write)>("write");
  return is_cut(fd) ? broken(ECONNRESET) : real(fd, buffer, size);
}

int connect(int fd, const sockaddr* address, socklen_t length) {
  static auto* const real = next<decltype(connect)>("connect");
  const bool cut = is_cut() && is_group_port(*reinterpret_cast<const sockaddr_storage*>(address));
  return cut ? broken(ENETUNREACH) : real(fd, address, length);
}
}
