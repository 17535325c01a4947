// Which silent attempts wait for a verdict, and for how long.
#include "dispatcher/outage/outage_watch.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "dispatcher/http/sender.hpp"
#include "tests/unit/silent_port.hpp"
#include "tests/wait.hpp"

namespace {

using namespace std::chrono_literals;
using delivery::Attempt;
using delivery::Silence;
using delivery::TransportResult;
using dispatcher::OutageWatch;
using platform::MonotonicTime;

struct Fixture {
  const platform::Log log{platform::LogLevel::error};
  const dispatcher::Metrics metrics;
  const config::DeliverySettings settings = settings_of({"127.0.0.1/32"});
  std::array<SilentPort, 5> ports;  // of hosts that answered before, and are silent now
  platform::Mailbox<Attempt> attempts;
  dispatcher::Sender sender{settings, attempts};
  OutageWatch watch{settings, log, metrics, sender};
  MonotonicTime now = platform::monotonic_now();

  Fixture() { BOOST_REQUIRE_EQUAL(watch.judge(answers("127.0.0.1"), now).size(), 5U); }

  static config::DeliverySettings settings_of(std::initializer_list<const char*> allowed) {
    config::DeliverySettings result;
    for (const auto* network : allowed)
      result.allowed_networks.push_back({platform::IpNetwork::parse(network).value(), "127.0.0.1"});
    return result;
  }
  /// One answered attempt to a host of each of five entities.
  std::vector<Attempt> answers(const std::string& address) const {
    std::vector<Attempt> result;
    for (int entity = 1; entity <= 5; ++entity) {
      auto attempt = ended(entity, now);
      attempt.host = ports.at(static_cast<std::size_t>(entity) - 1).host();
      attempt.transport = TransportResult::answered;
      attempt.address = address;
      attempt.heard = now;
      attempt.name_answered = now;
      result.push_back(std::move(attempt));
    }
    return result;
  }

  static Attempt ended(int entity, MonotonicTime at) {
    Attempt attempt;
    attempt.delivery.entity = entity;
    attempt.delivery.id = entity;
    attempt.host = "host" + std::to_string(entity) + ".example.com:443";
    attempt.ended = at;
    attempt.lease_until = at + 45s;
    return attempt;
  }
  static Attempt silent(int entity, MonotonicTime at) {
    auto attempt = ended(entity, at);
    attempt.transport = TransportResult::connection_timeout;
    attempt.silence = Silence::network;
    return attempt;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(outage_watch, Fixture)

BOOST_AUTO_TEST_CASE(a_silent_attempt_waits_until_a_receiver_answers) {
  BOOST_CHECK(watch.judge({silent(6, now + 1s)}, now + 1s).empty());
  BOOST_CHECK_EQUAL(watch.kept(), 1U);
  auto answer = ended(1, now + 2s);
  answer.transport = TransportResult::answered;
  answer.heard = now + 2s;
  const auto judged = watch.judge({answer}, now + 2s);
  BOOST_REQUIRE_EQUAL(judged.size(), 2U);
  BOOST_CHECK(judged[0].counted && judged[1].counted);
  BOOST_CHECK_EQUAL(watch.kept(), 0U);
}

// The attempts beyond the limit are not started as far as their deliveries are concerned: they are sent
// again.
BOOST_AUTO_TEST_CASE(so_many_wait_at_most) {
  const auto judged = watch.judge(std::vector<Attempt>(16'385, silent(6, now + 1s)), now + 1s);
  BOOST_CHECK_EQUAL(watch.kept(), 16'384U);
  BOOST_REQUIRE_EQUAL(judged.size(), 1U);
  BOOST_CHECK(judged[0].transport == TransportResult::not_started);
}

BOOST_AUTO_TEST_CASE(it_waits_ten_seconds_at_most) {
  watch.judge({silent(6, now + 1s)}, now + 1s);
  BOOST_CHECK(watch.judge({}, now + 5s).empty());
  BOOST_CHECK(watch.judge({}, now + 10s).empty());
  const auto judged = watch.judge({}, now + 11s);
  BOOST_REQUIRE_EQUAL(judged.size(), 1U);
  BOOST_CHECK(judged[0].counted);
}

BOOST_AUTO_TEST_CASE(hosts_that_must_not_be_asked_are_no_witnesses) {
  const auto nowhere = settings_of({});
  platform::Mailbox<Attempt> ended_attempts;
  dispatcher::Sender careful(nowhere, ended_attempts);
  OutageWatch other(nowhere, log, metrics, careful);
  other.judge(answers("127.0.0.1"), now);
  BOOST_CHECK(other.judge({silent(6, now + 1s)}, now + 1s).empty());
  // The watch checks two of the five hosts. Their address is not allowed, so the watch forgets them, and
  // knows too few hosts to declare an outage. `clock` is the time that the watch is told.
  std::vector<Attempt> judged;
  auto clock = now + 1s;
  while (judged.empty() && clock < now + 10s) {
    clock += 1ms;
    std::this_thread::sleep_for(1ms);
    judged = other.judge(ended_attempts.take(), clock);
  }
  BOOST_CHECK_EQUAL(judged.size(), 1U);
}

// An entity can keep its hosts silent on purpose, so that their checks fail.
BOOST_AUTO_TEST_CASE(hosts_that_are_silent_are_asked_after_the_others) {
  std::vector<Attempt> known;
  std::vector<Attempt> unanswered;
  for (int entity = 10; entity < 110; ++entity) {
    auto answer = answers("127.0.0.1").front();
    answer.delivery.entity = entity;
    answer.host = "127.0.0.1:" + std::to_string(entity);  // nothing listens there
    known.push_back(answer);
    unanswered.push_back(silent(entity, now + 1s));
    unanswered.back().host = answer.host;
  }
  watch.judge(known, now);
  watch.judge(unanswered, now + 1s);
  const auto asked = [&] { return std::ranges::count_if(ports, &SilentPort::asked); };
  wait::until([&] { return asked() == 5; }, "the hosts that are not silent to be asked");
}

// As after a stop of the process: no check was made in that time, so the silence proves nothing.
BOOST_AUTO_TEST_CASE(what_waited_while_the_watch_did_not_run_is_sent_again) {
  watch.judge({silent(6, now + 1s)}, now + 1s);
  const auto judged = watch.judge({silent(7, now + 2s)}, now + 21s);
  BOOST_REQUIRE_EQUAL(judged.size(), 2U);
  for (const auto& attempt : judged) BOOST_CHECK(attempt.transport == TransportResult::not_started);
}

BOOST_AUTO_TEST_CASE(it_waits_no_longer_than_its_lease) {
  auto attempt = silent(6, now + 1s);
  attempt.lease_until = now + 9s;
  BOOST_CHECK(watch.judge({attempt, silent(7, now + 1s)}, now + 3s).empty());
  const auto judged = watch.judge({}, now + 4s);
  BOOST_REQUIRE_EQUAL(judged.size(), 1U);
  BOOST_CHECK(judged[0].counted && judged[0].delivery.id == 6);
}

BOOST_AUTO_TEST_CASE(a_stopping_service_gives_up_kept_attempts_as_not_started) {
  watch.judge({silent(6, now + 1s)}, now + 1s);
  const auto left = watch.give_up();
  BOOST_REQUIRE_EQUAL(left.size(), 1U);
  BOOST_CHECK(left[0].transport == TransportResult::not_started);
  BOOST_CHECK_EQUAL(watch.kept(), 0U);
}

BOOST_AUTO_TEST_CASE(a_name_server_that_answers_ends_the_silence_of_names_and_not_of_the_network) {
  auto unresolved = silent(6, now + 1s);
  unresolved.transport = TransportResult::name_unresolved;
  unresolved.silence = Silence::names;
  watch.judge({unresolved, silent(7, now + 1s)}, now + 1s);
  // For the first attempt no name server was asked, which says nothing. For the second, one gave an address.
  auto other = ended(8, now + 2s);
  other.transport = TransportResult::connection_failed;
  BOOST_CHECK_EQUAL(watch.judge({other}, now + 2s).size(), 1U);
  other.name_answered = now + 2s;
  const auto judged = watch.judge({other}, now + 2s);
  BOOST_REQUIRE_EQUAL(judged.size(), 2U);
  BOOST_CHECK_EQUAL(judged[1].delivery.id, 6);
  BOOST_CHECK_EQUAL(watch.kept(), 1U);
}

BOOST_AUTO_TEST_SUITE_END()
