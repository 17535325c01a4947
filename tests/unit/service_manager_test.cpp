#include "lib/platform/service_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tests/unit/child.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace platform;

namespace {

int bound_socket(const std::string& path, int type) {
  const int fd = ::socket(AF_UNIX, type, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
  return fd;
}

int listening_socket(const std::string& path) {
  const int fd = bound_socket(path, SOCK_STREAM);
  ::listen(fd, 1);
  return fd;
}

/// Sets the environment of the calling process as systemd does when it passes `count` descriptors, numbered
/// from 3 on.
void pass_descriptors(const std::string& count) {
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  ::setenv("LISTEN_FDS", count.c_str(), 1);
}

/// Runs `prepare` and then inherited_listening_socket() in a child process. Returns the descriptor, "none" or
/// the error, as text. Descriptor 0 of the child is /dev/null unless `prepare` changes it.
std::string inherited(const std::function<void(const std::string& folder)>& prepare) {
  const unit::TemporaryFolder folder;
  const auto result = unit::run_in_child([&] {
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::unsetenv("LISTEN_PID");
    ::unsetenv("LISTEN_FDS");
    prepare(folder.path());
    const auto fd = inherited_listening_socket();
    std::cout << (fd ? std::to_string(*fd) : "none");
    return 0;
  });
  return result.out + result.err;
}

/// Returns the message that `tell` sends to the service manager.
std::string told(const std::function<void()>& tell) {
  const unit::TemporaryFolder folder;
  const auto path = folder.path() + "/notify";
  const int fd = bound_socket(path, SOCK_DGRAM);
  const auto result = unit::run_in_child([&] {
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    tell();
    return 0;
  });
  BOOST_TEST(result.status == 0);
  std::array<char, 8192> message{};
  const auto size = ::recv(fd, message.data(), message.size(), MSG_DONTWAIT);
  ::close(fd);
  BOOST_REQUIRE(size > 0);
  return {message.data(), static_cast<std::size_t>(size)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(service_manager_test)

BOOST_AUTO_TEST_CASE(a_socket_of_systemd) {
  BOOST_TEST(inherited([](const std::string& folder) {
               ::dup2(listening_socket(folder + "/s"), 3);
               pass_descriptors("1");
             }) == "3");
}

BOOST_AUTO_TEST_CASE(a_socket_left_as_descriptor_0) {
  BOOST_TEST(inherited([](const std::string& folder) { ::dup2(listening_socket(folder + "/s"), 0); }) == "0");
}

BOOST_AUTO_TEST_CASE(no_socket_at_all) {
  BOOST_TEST(inherited([](const std::string&) {}) == "none");
  BOOST_TEST(inherited([](const std::string&) { ::close(0); }) == "none");
  BOOST_TEST(inherited([](const std::string& folder) {
               ::dup2(bound_socket(folder + "/s", SOCK_STREAM), 0);
             }) == "none");
}

BOOST_AUTO_TEST_CASE(descriptors_for_another_process_are_not_ours) {
  BOOST_TEST(inherited([](const std::string&) {
               pass_descriptors("1");
               ::setenv("LISTEN_PID", "1", 1);
             }) == "none");
}

BOOST_AUTO_TEST_CASE(what_systemd_should_not_pass) {
  BOOST_TEST(inherited([](const std::string& folder) {
               ::dup2(listening_socket(folder + "/a"), 3);
               ::dup2(listening_socket(folder + "/b"), 4);
               pass_descriptors("2");
             }) == "systemd passed 2 sockets, one is expected\n");
  BOOST_TEST(inherited([](const std::string& folder) {
               ::dup2(bound_socket(folder + "/s", SOCK_STREAM), 3);
               pass_descriptors("1");
             }) == "the descriptor that systemd passed is not a listening socket\n");
  BOOST_TEST(inherited([](const std::string&) { pass_descriptors("many"); }) ==
             "LISTEN_FDS or LISTEN_PID of the environment is not a number\n");
}

BOOST_AUTO_TEST_CASE(the_service_manager_is_told) {
  BOOST_TEST(told([] { notify_service_manager("READY=1"); }) == "READY=1");
}

BOOST_AUTO_TEST_CASE(a_status_is_one_short_line_whatever_it_holds) {
  BOOST_TEST(told([] { report_status("nothing waits"); }) == "STATUS=nothing waits");
  BOOST_TEST(told([] { report_status("x\nMAINPID=1\nSTOPPING=1"); }) ==
             "STATUS=x\\x0aMAINPID=1\\x0aSTOPPING=1");
  BOOST_TEST(told([] { report_status(std::string(5000, 'x')); }).size() == 407U);
  BOOST_TEST(told([] { report_status(std::string(399, 'x') + "ñ"); }) == "STATUS=" + std::string(399, 'x'));
}

BOOST_AUTO_TEST_CASE(the_runtime_directory_is_the_first_of_several) {
  const auto result = unit::run_in_child([] {
    ::unsetenv("RUNTIME_DIRECTORY");
    std::cout << runtime_directory().value_or("none") << " ";
    for (const auto* folders : {"", "/run/a", "/run/a:/run/b"}) {
      ::setenv("RUNTIME_DIRECTORY", folders, 1);
      std::cout << runtime_directory().value_or("none") << " ";
    }
    return 0;
  });
  BOOST_TEST(result.out == "none none /run/a /run/a ");
}

BOOST_AUTO_TEST_CASE(a_missing_notify_socket_is_no_error) {
  for (const auto* socket : {"", "/nonexistent/notify"}) {
    const auto result = unit::run_in_child([socket] {
      ::setenv("NOTIFY_SOCKET", socket, 1);
      notify_service_manager("READY=1");
      return 0;
    });
    BOOST_TEST(result.status == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_service_manager_that_reads_nothing_delays_nothing) {
  const unit::TemporaryFolder folder;
  const auto path = folder.path() + "/notify";
  const int fd = bound_socket(path, SOCK_DGRAM);
  const auto result = unit::run_in_child([&] {
    constexpr unsigned hang_s = 20;
    ::alarm(hang_s);  // ends a child that hangs
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    for (int i = 0; i < 2000; ++i) notify_service_manager("WATCHDOG=1");
    return 0;
  });
  ::close(fd);
  BOOST_TEST(result.status == 0);
}

BOOST_AUTO_TEST_CASE(a_status_is_reported_until_it_is_taken) {
  const unit::TemporaryFolder folder;
  const auto path = folder.path() + "/notify";
  const int fd = bound_socket(path, SOCK_DGRAM);
  const auto result = unit::run_in_child([&] {
    ::unsetenv("JOURNAL_STREAM");
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    const auto take = [fd] {
      std::array<char, 100> message{};
      const auto size = ::recv(fd, message.data(), message.size(), MSG_DONTWAIT);
      return std::string(message.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    };
    StatusLine line{Log()};
    while (report_status("filling")) {
    }
    line.report("busy");
    line.report("busy");
    while (!take().empty()) {
    }
    line.report("busy");
    line.report("busy");
    std::cout << take() << "|" << take();
    return 0;
  });
  ::close(fd);
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.out == "STATUS=busy|");
  BOOST_TEST(result.err.find(" reports=2\n") != std::string::npos, result.err);
}

BOOST_AUTO_TEST_CASE(credentials_are_files_of_their_folder) {
  const unit::TemporaryFolder folder;
  const auto path = folder.write("database-password", "secret");
  const auto result = unit::run_in_child([&folder] {
    ::unsetenv("CREDENTIALS_DIRECTORY");
    std::cout << credential_path("database-password").value_or("none") << "\n";
    ::setenv("CREDENTIALS_DIRECTORY", folder.path().c_str(), 1);
    std::cout << credential_path("database-password").value_or("none") << "\n"
              << credential_path("other").value_or("none");
    return 0;
  });
  BOOST_TEST(result.out == "none\n" + path + "\nnone");
}

BOOST_AUTO_TEST_SUITE_END()
