#include "dispatcher/http/resolver.hpp"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>

// Names that need no server. tests/dispatch/test_dns.py tests those that servers answer.
BOOST_AUTO_TEST_SUITE(resolver)

namespace {

using namespace std::chrono_literals;

struct Fixture {
  dispatcher::Poller poller;
  dispatcher::Resolver resolver{300ms, poller};

  std::vector<dispatcher::Resolution> look_up(const std::string& name) {
    resolver.look_up(name);
    const auto deadline = platform::monotonic_now() + 5s;
    for (;;) {
      auto finished = resolver.take_ended();
      if (!finished.empty() || platform::monotonic_now() > deadline) return finished;
      for (const auto& event : poller.wait(10ms)) resolver.process(event);
    }
  }
};

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

// An entity may choose the name: a name that needs no server must be no sign that the servers answer.
BOOST_FIXTURE_TEST_CASE(what_needs_no_server_tells_nothing_of_servers, Fixture) {
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

// Otherwise a failure would count against the receiver, and it would look like an outage of the name servers.
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

BOOST_AUTO_TEST_SUITE_END()
