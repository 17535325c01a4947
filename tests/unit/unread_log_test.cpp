// A log whose reader takes nothing: no message waits for it.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include "lib/platform/log.hpp"
#include "lib/program/program.hpp"
#include "tests/unit/child.hpp"

using namespace config;
using namespace platform;
using namespace program;

namespace {

constexpr int skipped = 77;

struct Channel {
  int writer = -1;
  int reader = -1;
  std::function<void()> let_flow = [] {};  // to be called before the first read
};

Channel pipe_channel() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::abort();
  return {ends[1], ends[0]};
}

Channel socket_channel() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::abort();
  return {ends[1], ends[0]};
}

/// A terminal whose user has pressed Ctrl-S.
Channel stopped_terminal() {
  const int reader = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (reader < 0 || ::grantpt(reader) != 0 || ::unlockpt(reader) != 0) return {};
  const int writer = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
  if (writer < 0 || ::tcflow(writer, TCOOFF) != 0) return {};
  return {writer, reader, [writer] { ::tcflow(writer, TCOON); }};
}

/// A pipe that this process cannot open anew, such as one of another user.
Channel foreign_pipe() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return {};
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
    return {};
  return pipe_channel();
}

std::string take_all(int reader) {
  ::fcntl(reader, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 65536> part{};
  for (ssize_t size = 0; (size = ::read(reader, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(size));
  return text;
}

int count_of(std::string_view word, std::string_view text) {
  int count = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// Ends this process with SIGALRM if it hangs.
void end_a_hang() { ::alarm(20); }

/// Logs more than the channel holds, lets the reader read, logs once more and checks what the reader got.
int overfill(const Channel& channel) {
  constexpr int written = 3000;
  if (channel.writer < 0) return skipped;
  end_a_hang();
  ::dup2(channel.writer, STDERR_FILENO);
  const Log log;
  for (int i = 0; i < written; ++i) log.info("many", {{"text", std::string(200, 'x')}});
  channel.let_flow();
  const int read = count_of(" info many text=xxx", take_all(channel.reader));
  log.info("later");
  const auto rest = take_all(channel.reader);
  std::cout << "some lost " << (read < written) << " later " << count_of(" info later", rest) << " told "
            << count_of(" messages=" + std::to_string(written - read), rest);
  return 0;
}

void check_overfilled(const std::function<Channel()>& make) {
  const auto child = unit::run_in_child([&] {
    ::unsetenv("JOURNAL_STREAM");
    return overfill(make());
  });
  if (child.status == skipped) {
    BOOST_TEST_MESSAGE("skipped: no such channel can be made here");
    return;
  }
  BOOST_TEST(child.status == 0);
  BOOST_TEST(child.out == "some lost 1 later 1 told 1");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unread_log_test)

BOOST_AUTO_TEST_CASE(a_full_pipe_delays_nothing_and_is_told_how_many_it_lost) {
  check_overfilled(pipe_channel);
}

BOOST_AUTO_TEST_CASE(so_does_a_pipe_of_another_user) { check_overfilled(foreign_pipe); }

BOOST_AUTO_TEST_CASE(so_does_a_socket) { check_overfilled(socket_channel); }

BOOST_AUTO_TEST_CASE(so_does_a_stopped_terminal) { check_overfilled(stopped_terminal); }

BOOST_AUTO_TEST_CASE(the_starters_descriptor_stays_blocking) {
  const auto child = unit::run_in_child([] {
    const auto channel = pipe_channel();
    ::dup2(channel.writer, STDERR_FILENO);
    Log().info("m");
    return ::fcntl(channel.writer, F_GETFL) & O_NONBLOCK;
  });
  BOOST_TEST(child.status == 0);
}

BOOST_AUTO_TEST_CASE(a_long_line_is_cut_and_stays_one_line) {
  const auto child = unit::run_in_child([] {
    Log().info("long", {{"text", std::string(100'000, 'x')}});
    Log().info("next");
    return 0;
  });
  BOOST_TEST(child.err.find('\n') == 4095U);
  BOOST_TEST(child.err.find(" info next\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_that_cannot_say_why_it_fails_ends) {
  const auto child = unit::run_in_child([] {
    end_a_hang();
    const auto channel = pipe_channel();
    ::dup2(channel.writer, STDERR_FILENO);
    ::fcntl(channel.writer, F_SETFL, O_NONBLOCK);
    while (::write(channel.writer, "x", 1) == 1) {
    }
    ::fcntl(channel.writer, F_SETFL, 0);
    const std::array<const char*, 2> arguments{"x", "--config=/nonexistent"};
    return run_daemon(2, arguments.data(), "", [](const Config&, const Signals&) { return 0; });
  });
  BOOST_TEST(child.status == exit_usage);
}

BOOST_AUTO_TEST_SUITE_END()
