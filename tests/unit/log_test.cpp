#include "lib/platform/log.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include "lib/platform/clock.hpp"
#include "tests/unit/child.hpp"

using namespace platform;

namespace {

std::string with(std::string_view value) { return format_log_line("m", {{"k", value}}); }

/// Runs `body` in a child process and returns what `body` writes on standard error. The child has the
/// variable JOURNAL_STREAM only if `journal` is true.
std::string logged(bool journal, const std::function<void()>& body) {
  const auto child = unit::run_in_child([&] {
    if (journal)
      ::setenv("JOURNAL_STREAM", "8:1", 1);
    else
      ::unsetenv("JOURNAL_STREAM");
    body();
    return 0;
  });
  BOOST_TEST(child.status == 0);
  BOOST_TEST(child.out.empty());
  return child.err;
}

constexpr const char* journal_socket = "/run/systemd/journal/socket";

/// Mounts a /run that only this process sees, and returns a socket at the journal's address in it. -1 if the
/// process may not mount.
int private_journal() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", "/run", "tmpfs", 0, nullptr) != 0)
    return -1;
  std::filesystem::create_directories("/run/systemd/journal");
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, journal_socket, sizeof address.sun_path - 1);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

void name_stderr_as_the_journal() {
  struct stat status;
  ::fstat(STDERR_FILENO, &status);
  const auto name = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  ::setenv("JOURNAL_STREAM", name.c_str(), 1);
}

void write_all_levels(LogLevel minimum) {
  const Log log(minimum);
  log.debug("d");
  log.info("i", {{"n", 3}});
  log.warning("w");
  log.error("e");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_test)

BOOST_AUTO_TEST_CASE(plain_values_stand_as_they_are) {
  BOOST_TEST(format_log_line("started", {}) == "started");
  BOOST_TEST(format_log_line("a request", {{"status", 200}, {"path", "/v1/webhooks"}, {"n", -1}}) ==
             "a request status=200 path=/v1/webhooks n=-1");
}

BOOST_AUTO_TEST_CASE(a_value_that_could_be_misread_is_quoted) {
  BOOST_TEST(with("") == "m k=\"\"");
  BOOST_TEST(with("two words") == "m k=\"two words\"");
  BOOST_TEST(with("a=b") == "m k=\"a=b\"");
  BOOST_TEST(with("say \"hi\"") == "m k=\"say \\\"hi\\\"\"");
  BOOST_TEST(with("back\\slash") == "m k=\"back\\\\slash\"");
  BOOST_TEST(with("José") == "m k=\"José\"");
}

BOOST_AUTO_TEST_CASE(a_value_cannot_forge_a_line_or_a_field) {
  BOOST_TEST(with("x\n<3>forged") == "m k=\"x\\x0a<3>forged\"");
  BOOST_TEST(with("x\r\n") == "m k=\"x\\x0d\\x0a\"");
  BOOST_TEST(with("x\" admin=\"1") == "m k=\"x\\\" admin=\\\"1\"");
  BOOST_TEST(with(std::string_view("a\0b", 3)) == "m k=\"a\\x00b\"");
  BOOST_TEST(with("\x1b[2J\x7f") == "m k=\"\\x1b[2J\\x7f\"");
  BOOST_TEST(format_log_line("message\nforged", {}) == "message\\x0aforged");
}

BOOST_AUTO_TEST_CASE(hidden_unicode_is_escaped) {
  BOOST_TEST(with("\u0085") == "m k=\"\\xc2\\x85\"");       // next line, a C1 control
  BOOST_TEST(with("\u2028") == "m k=\"\\xe2\\x80\\xa8\"");  // line separator
  BOOST_TEST(with("\u202e") == "m k=\"\\xe2\\x80\\xae\"");  // right-to-left override
  BOOST_TEST(with("\u200f") == "m k=\"\\xe2\\x80\\x8f\"");  // right-to-left mark
  BOOST_TEST(with("\u061c") == "m k=\"\\xd8\\x9c\"");       // Arabic letter mark
  BOOST_TEST(with("\u2066") == "m k=\"\\xe2\\x81\\xa6\"");  // left-to-right isolate
  BOOST_TEST(with("\u00a0\u2027\u2030") == "m k=\"\u00a0\u2027\u2030\"");
}

BOOST_AUTO_TEST_CASE(what_is_not_utf8_is_escaped_byte_by_byte) {
  BOOST_TEST(with("\xff") == "m k=\"\\xff\"");
  BOOST_TEST(with("\xc3") == "m k=\"\\xc3\"");                             // cut short
  BOOST_TEST(with("\xc3(") == "m k=\"\\xc3(\"");                           // no continuation
  BOOST_TEST(with("\xc0\xaf") == "m k=\"\\xc0\\xaf\"");                    // overlong
  BOOST_TEST(with("\xe0\x81\x81") == "m k=\"\\xe0\\x81\\x81\"");           // overlong A
  BOOST_TEST(with("\xe0\x80\x8a") == "m k=\"\\xe0\\x80\\x8a\"");           // overlong line end
  BOOST_TEST(with("\xed\xa0\x80") == "m k=\"\\xed\\xa0\\x80\"");           // surrogate
  BOOST_TEST(with("\xf4\x90\x80\x80") == "m k=\"\\xf4\\x90\\x80\\x80\"");  // beyond U+10FFFF
  BOOST_TEST(with("\xf0\x9f\x98\x80") == "m k=\"\xf0\x9f\x98\x80\"");
}

BOOST_AUTO_TEST_CASE(the_journal_gets_priorities_and_no_time) {
  BOOST_TEST(logged(true, [] { write_all_levels(LogLevel::debug); }) == "<7>d\n<6>i n=3\n<4>w\n<3>e\n");
}

BOOST_AUTO_TEST_CASE(elsewhere_a_line_has_its_time_in_utc_and_its_level) {
  const auto before = format_iso8601(utc_now());
  std::istringstream lines(logged(false, [] {
    ::setenv("TZ", "XYZ-7", 1);
    write_all_levels(LogLevel::debug);
  }));
  const auto after = format_iso8601(utc_now());
  for (const std::string expected : {"debug d", "info i n=3", "warning w", "error e"}) {
    std::string line;
    std::getline(lines, line);
    const auto time = line.substr(0, line.find(' '));
    BOOST_TEST(line.substr(time.size()) == " " + expected);
    // Texts of one form and length sort like their times.
    BOOST_TEST(time.size() == before.size());
    BOOST_TEST((before <= time && time <= after), time);
  }
  BOOST_TEST(lines.peek() == EOF);
}

BOOST_AUTO_TEST_CASE(a_journal_entry_has_its_values_as_fields) {
  const auto fields = journal_fields(LogLevel::warning, "attempt failed",
                                     {{"webhook", 4}, {"duration_ms", 15}, {"error", "two words"}});
  BOOST_REQUIRE(fields.size() == 6U);
  BOOST_TEST(fields[0] == "MESSAGE=attempt failed webhook=4 duration_ms=15 error=\"two words\"");
  BOOST_TEST(fields[1] == "PRIORITY=4");
  BOOST_TEST(fields[2].starts_with("SYSLOG_IDENTIFIER=unit_tests"));
  BOOST_TEST(fields[3] == "APIENTIDADES_WEBHOOK=4");
  BOOST_TEST(fields[4] == "APIENTIDADES_DURATION_MS=15");
  BOOST_TEST(fields[5] == "APIENTIDADES_ERROR=two words");
}

BOOST_AUTO_TEST_CASE(a_value_cannot_forge_a_journal_field) {
  const auto fields = journal_fields(LogLevel::info, "m\nPRIORITY=0", {{"k", "x\nPRIORITY=0\n"}});
  BOOST_REQUIRE(fields.size() == 4U);
  BOOST_TEST(fields[0] == "MESSAGE=m\\x0aPRIORITY=0 k=\"x\\x0aPRIORITY=0\\x0a\"");
  BOOST_TEST(fields[3] == "APIENTIDADES_K=x\\x0aPRIORITY=0\\x0a");
}

BOOST_AUTO_TEST_CASE(the_journal_itself_gets_entries_and_no_line) {
  const auto child = unit::run_in_child([] {
    const int journal = private_journal();
    if (journal < 0) return 77;
    name_stderr_as_the_journal();
    Log().error("m", {{"webhook", 4}});
    std::array<char, 4096> entry{};
    const auto size = ::recv(journal, entry.data(), entry.size(), MSG_DONTWAIT);
    std::cout << std::string_view(entry.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return 0;
  });
  if (child.status == 77) {
    BOOST_TEST_MESSAGE("skipped: no mount namespace of our own is allowed here");
    return;
  }
  BOOST_TEST(child.status == 0);
  BOOST_TEST(child.err.empty(), child.err);
  for (const auto* field : {"MESSAGE=m webhook=4\n", "PRIORITY=3\n", "APIENTIDADES_WEBHOOK=4\n"})
    BOOST_TEST(child.out.find(field) != std::string::npos, child.out);
}

BOOST_AUTO_TEST_CASE(what_a_full_journal_does_not_take_is_a_line_of_standard_error) {
  constexpr int written = 2000;  // the socket holds fewer
  const auto child = unit::run_in_child([] {
    const int journal = private_journal();
    if (journal < 0) return 77;
    name_stderr_as_the_journal();
    constexpr unsigned hang_s = 20;
    ::alarm(hang_s);  // ends a child that hangs
    const Log log;
    for (int i = 0; i < written; ++i) log.info("m");
    int taken = 0;
    std::array<char, 4096> entry{};
    while (::recv(journal, entry.data(), entry.size(), MSG_DONTWAIT) > 0) ++taken;
    std::cout << taken;
    return 0;
  });
  if (child.status == 77) {
    BOOST_TEST_MESSAGE("skipped: no mount namespace of our own is allowed here");
    return;
  }
  BOOST_TEST(child.status == 0);
  const auto lines = std::ranges::count(child.err, '\n');
  BOOST_TEST((0 < lines && lines < written));
  BOOST_TEST(child.out == std::to_string(written - lines));
}

BOOST_AUTO_TEST_CASE(a_message_that_the_journal_refuses_is_a_line_of_standard_error) {
  const auto child = unit::run_in_child([] {
    const int journal = private_journal();
    if (journal < 0) return 77;
    name_stderr_as_the_journal();
    ::close(journal);
    Log().error("m", {{"webhook", 4}});
    return 0;
  });
  if (child.status == 77) {
    BOOST_TEST_MESSAGE("skipped: no mount namespace of our own is allowed here");
    return;
  }
  BOOST_TEST(child.err == "<3>m webhook=4\n");
}

BOOST_AUTO_TEST_CASE(less_important_messages_are_left_out) {
  BOOST_TEST(logged(true, [] { write_all_levels(LogLevel::info); }) == "<6>i n=3\n<4>w\n<3>e\n");
  BOOST_TEST(logged(true, [] { write_all_levels(LogLevel::warning); }) == "<4>w\n<3>e\n");
  BOOST_TEST(logged(true, [] { write_all_levels(LogLevel::error); }) == "<3>e\n");
}

BOOST_AUTO_TEST_CASE(braces_and_percent_signs_are_no_format) {
  BOOST_TEST(logged(true, [] { Log().info("{} %v %s {0}", {{"k", "{}"}}); }) == "<6>{} %v %s {0} k={}\n");
}

BOOST_AUTO_TEST_CASE(lines_of_several_threads_stay_whole) {
  const auto text = logged(true, [] {
    const Log log;
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([log] {
        for (int n = 0; n < 50; ++n) log.info("from a thread", {{"text", std::string(200, 'x')}});
      });
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    BOOST_REQUIRE(line == "<6>from a thread text=" + std::string(200, 'x'));
  BOOST_TEST(count == 200);
}

BOOST_AUTO_TEST_SUITE_END()
