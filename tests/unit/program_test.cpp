#include "lib/program/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "tests/unit/child.hpp"

using namespace config;
using namespace platform;
using namespace program;

namespace {

int print_threads(const Config& config, const Signals&) {
  std::cout << config.settings.api.threads;
  return 7;
}

/// Calls run_daemon in a process of its own, under the name /usr/bin/apientidades-test.
unit::ChildResult run(std::vector<const char*> arguments,
                      const std::function<int(const Config&, const Signals&)>& body = print_threads) {
  arguments.insert(arguments.begin(), "/usr/bin/apientidades-test");
  return unit::run_in_child([&] {
    return run_daemon(static_cast<int>(arguments.size()), arguments.data(), "tests what a program does.",
                      body);
  });
}

void is_one_line(const unit::ChildResult& result, int status, const std::string& line) {
  BOOST_TEST(result.status == status);
  BOOST_TEST(result.out.empty());
  BOOST_TEST(result.err == line + "\n");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(program_test)

BOOST_AUTO_TEST_CASE(the_body_gets_the_configuration_and_gives_the_status) {
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {"--config", "/dev/null", "--api.threads=3"}, {"--api.threads", "3", "--config=/dev/null"}}) {
    const auto result = run(arguments);
    BOOST_TEST(result.status == 7);
    BOOST_TEST(result.out == "3");
    BOOST_TEST(result.err.empty());
  }
}

BOOST_AUTO_TEST_CASE(the_environment_is_read) {
  const auto result = unit::run_in_child([] {
    ::setenv("APIENTIDADES_API_THREADS", "5", 1);
    const std::vector<const char*> arguments{"x", "--config=/dev/null"};
    return run_daemon(2, arguments.data(), "", print_threads);
  });
  BOOST_TEST(result.out == "5");
}

BOOST_AUTO_TEST_CASE(help_says_it_all_within_100_columns) {
  const auto result = run({"--help"});
  BOOST_TEST(result.status == exit_done);
  BOOST_TEST(result.err.empty());
  BOOST_TEST(result.out.starts_with("apientidades-test: tests what a program does.\n"));
  for (const auto* part :
       {"Usage: apientidades-test", "--config FILE", "--version", "Exit status: 0 done, 1 failed, 2 "})
    BOOST_TEST(result.out.find(part) != std::string::npos, part);
  for (const auto& key : config_keys())
    BOOST_TEST(result.out.find("\n  " + key.name + " = ") != std::string::npos, key.name);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    BOOST_TEST(line.size() <= 100U, line);
    BOOST_TEST(!line.ends_with(' '), line);
  }
  BOOST_TEST(run({"-h"}).out == result.out);
}

BOOST_AUTO_TEST_CASE(help_and_version_need_no_configuration) {
  BOOST_TEST(run({"--help", "--config=/nonexistent"}).status == exit_done);
  const auto version = run({"--version"});
  BOOST_TEST(version.status == exit_done);
  BOOST_TEST(version.out == "apientidades-test " APIENTIDADES_VERSION "\n");
}

BOOST_AUTO_TEST_CASE(output_that_cannot_be_written_is_a_failure) {
  const auto result = unit::run_in_child([] {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ::dup2(full, STDOUT_FILENO);
    const std::vector<const char*> arguments{"x", "--help"};
    return run_daemon(2, arguments.data(), "", print_threads);
  });
  is_one_line(result, exit_failed, "x: standard output could not be written");
}

BOOST_AUTO_TEST_CASE(wrong_usage_and_configuration_are_one_line_and_status_2) {
  const std::string name = "apientidades-test: ";
  is_one_line(run({"--config"}), exit_usage, name + "command line: --config needs a file");
  is_one_line(run({"--config="}), exit_usage, name + "command line: --config needs a file");
  is_one_line(run({"--config=/dev/null", "--config", "/dev/null"}), exit_usage,
              name + "command line: --config is given twice");
  is_one_line(run({"--config=/nonexistent"}), exit_usage,
              name + "configuration file /nonexistent: No such file or directory");
  is_one_line(
      run({"--config=/dev/null", "--log.level=all"}), exit_usage,
      name + "command line: log.level = \"all\" is not accepted; expected: debug, info, warning, error");
  is_one_line(run({"--config=/dev/null", "start"}), exit_usage,
              name +
                  "command line: unexpected argument \"start\"; expected --section.key=value "
                  "(apientidades.conf(5) lists the keys)");
}

BOOST_AUTO_TEST_CASE(any_other_failure_is_one_line_and_status_1) {
  const auto result = run({"--config=/dev/null"},
                          [](const Config&, const Signals&) -> int { throw std::runtime_error("no\nluck"); });
  is_one_line(result, exit_failed, "apientidades-test: no\\x0aluck");
}

BOOST_AUTO_TEST_SUITE_END()
