#include "lib/platform/reload_signal.hpp"

#include <poll.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "lib/platform/stop_signal.hpp"
#include "lib/program/reload.hpp"
#include "tests/unit/child.hpp"

using platform::ReloadSignal;
using platform::StopSignal;

BOOST_AUTO_TEST_SUITE(reload_signal_test)

BOOST_AUTO_TEST_CASE(an_order_wakes_is_taken_once_and_ends_nothing) {
  const auto result = unit::run_in_child([] {
    const StopSignal stop;
    const ReloadSignal reload;
    if (reload.take()) return 1;
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGHUP);
    pollfd descriptor{reload.fd(), POLLIN, 0};
    if (::poll(&descriptor, 1, 10000) != 1) return 2;
    if (!reload.take() || reload.take()) return 3;
    ::kill(::getpid(), SIGHUP);
    if (!reload.take()) return 4;
    return stop.requested() ? 5 : 0;
  });
  BOOST_TEST(result.status == 0, result.err);
}

BOOST_AUTO_TEST_CASE(a_configuration_file_that_has_vanished_is_not_good) {
  const auto result = unit::run_in_child([] {
    const ReloadSignal signal;
    bool loaded = false;
    const auto load = [&] {
      loaded = true;
      return config::Config{{}, {}, {{"log.level", "debug", ""}}};
    };
    const auto loads_again = [&](const std::string& source) {
      program::Reload reload(signal, {"/nonexistent/x.conf", {}, {{"log.level", "debug", source}}}, load, {},
                             platform::Log());
      ::kill(::getpid(), SIGHUP);
      return reload.take() && loaded;
    };
    if (loads_again("/nonexistent/x.conf:3")) return 1;
    return loads_again("environment") ? 0 : 2;
  });
  BOOST_TEST(result.status == 0, result.err);
}

BOOST_AUTO_TEST_SUITE_END()
