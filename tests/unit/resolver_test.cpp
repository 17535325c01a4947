#include "dispatcher/http/resolver.hpp"

#include <ares.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>

#include "tests/unit/child.hpp"
#include "tests/unit/temporary_folder.hpp"

// Lookups in which no server is asked. tests/dispatch/test_dns.py tests those that servers answer.
BOOST_AUTO_TEST_SUITE(resolver)

namespace {

using namespace std::chrono_literals;

struct Fixture {
  dispatcher::Poller poller;
  dispatcher::Resolver resolver{300ms, poller};

  std::vector<dispatcher::Resolution> look_up(const std::string& name) {
    resolver.look_up(name);
    const auto deadline = platform::monotonic_now() + 1min;
    for (;;) {
      auto finished = resolver.take_ended();
      if (!finished.empty() || platform::monotonic_now() > deadline) return finished;
      for (const auto& event : poller.wait(10ms)) resolver.process(event);
    }
  }
};

constexpr int not_permitted = 97;

/// Returns the exit status of a process for which /etc/hosts is `file`.
int with_hosts(const std::string& file, const std::function<int(Fixture&)>& body) {
  const auto child = unit::run_in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0) return not_permitted;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
      return not_permitted;
    Fixture fixture;
    return body(fixture);
  });
  BOOST_TEST_MESSAGE(child.err);
  return child.status;
}

/// Dates the file a day back. c-ares 1.34 reads a file again if its date is the current second or later.
void make_old(const std::string& file) {
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - 24h);
}

/// The lines of `count` hosts, all at `address`.
std::string hosts(const std::string& address, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += address + " h" + std::to_string(i) + ".example.com\n";
  return lines;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(nothing_is_waited_for_while_nothing_is_looked_up, Fixture) {
  BOOST_TEST(!resolver.next_timeout().has_value());
  BOOST_TEST(resolver.take_ended().empty());
  BOOST_TEST(!resolver.process({0, true, false, false}));  // not a descriptor of the resolver
}

BOOST_FIXTURE_TEST_CASE(what_ends_at_once_is_waited_for_no_longer, Fixture) {
  resolver.look_up("localhost");
  BOOST_TEST((resolver.next_timeout().value() <= platform::monotonic_now()));
  BOOST_TEST(resolver.take_ended().size() == 1U);
  BOOST_TEST(!resolver.next_timeout().has_value());
}

BOOST_FIXTURE_TEST_CASE(an_answer_is_kept_for_its_life, Fixture) {
  const auto now = platform::monotonic_now();
  BOOST_TEST(resolver.cached("localhost", now) == nullptr);
  const auto finished = look_up("localhost");
  BOOST_REQUIRE(finished.size() == 1U);
  BOOST_TEST(finished.front().name == "localhost");
  BOOST_REQUIRE(!finished.front().addresses.empty());
  const auto* kept = resolver.cached("localhost", now);
  BOOST_REQUIRE(kept != nullptr);
  BOOST_TEST((*kept == finished.front().addresses));
  BOOST_TEST(resolver.cached("localhost", now + dispatcher::Resolver::longest_life + 5s) == nullptr);
}

// An entity may choose a host name that the resolver looks up without asking a name server. Such a lookup
// must not count as a sign that the name servers answer.
BOOST_FIXTURE_TEST_CASE(a_lookup_without_a_server_says_nothing_of_servers, Fixture) {
  for (const auto& name : {std::string("localhost"), std::string(300, 'x') + ".example.com"}) {
    const auto finished = look_up(name);
    BOOST_REQUIRE(finished.size() == 1U);
    BOOST_TEST((finished.front().servers == dispatcher::Resolution::Servers::nothing), name);
  }
}

BOOST_FIXTURE_TEST_CASE(a_name_that_cannot_be_has_no_address_and_is_not_kept, Fixture) {
  const auto name = std::string(300, 'x') + ".invalid";
  const auto finished = look_up(name);
  BOOST_REQUIRE(finished.size() == 1U);
  BOOST_TEST(finished.front().addresses.empty());
  BOOST_TEST(resolver.cached(name, platform::monotonic_now()) == nullptr);
}

// A lookup that fails for want of descriptors must not count against the receiver, or look like an outage of
// the name servers.
BOOST_FIXTURE_TEST_CASE(without_descriptors_no_server_is_asked, Fixture) {
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto finished = look_up("a.example.com");
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  BOOST_REQUIRE(finished.size() == 1U);
  BOOST_TEST((finished.front().servers == dispatcher::Resolution::Servers::not_asked));
}

// c-ares 1.34 takes 70 ms to read a file of 50,000 hosts, in the thread that serves all receivers. c-ares
// before 1.20 reads the file for each lookup, but fifty times as fast.
#if ARES_VERSION >= 0x011400
BOOST_AUTO_TEST_CASE(a_long_hosts_file_is_not_read_for_each_lookup) {
  const unit::TemporaryFolder folder;
  const auto file = folder.write("hosts", hosts("192.0.2.1", 50'000));
  make_old(file);
  const int status = with_hosts(file, [&](Fixture& fixture) {
    const int opened = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    // With IN_OPEN alone, the kernel would merge the events of several readings.
    ::inotify_add_watch(opened, file.c_str(), IN_OPEN | IN_CLOSE_NOWRITE);
    for (int i = 0; i < 20; ++i) {
      if (fixture.look_up("h" + std::to_string(i) + ".example.com").at(0).addresses.size() != 1) return 1;
    }
    std::array<inotify_event, 40> events{};
    const auto bytes = ::read(opened, events.data(), sizeof events);
    ::close(opened);
    return bytes == 2 * sizeof(inotify_event) ? 0 : 2;
  });
  BOOST_TEST((status == 0 || status == not_permitted), status);
}
#endif

BOOST_AUTO_TEST_CASE(a_changed_hosts_file_counts_at_once_even_with_an_old_date) {
  const unit::TemporaryFolder folder;
  const auto file = folder.write("hosts", hosts("192.0.2.1", 1));
  const int status = with_hosts(file, [&](Fixture& fixture) {
    const auto address = [&] { return fixture.look_up("h0.example.com").at(0).addresses.at(0).to_string(); };
    if (address() != "192.0.2.1") return 1;
    folder.write("hosts", hosts("192.0.2.2", 1));
    make_old(file);
    return address() == "192.0.2.2" ? 0 : 2;
  });
  BOOST_TEST((status == 0 || status == not_permitted), status);
}

BOOST_AUTO_TEST_SUITE_END()
