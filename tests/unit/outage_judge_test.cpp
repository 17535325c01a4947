// Whether a silence is the receivers' fault or ours.
#include "dispatcher/outage/outage_judge.hpp"

#include <boost/test/unit_test.hpp>

#include "dispatcher/outage/known_hosts.hpp"

BOOST_AUTO_TEST_SUITE(outage_judge)

namespace {

using namespace std::chrono_literals;
using dispatcher::OutageJudge;
using platform::MonotonicTime;
using Verdict = OutageJudge::Verdict;

constexpr MonotonicTime start(1000s);

struct Judged {
  OutageJudge judge{{.longest = 24h}};
  Judged() { judge.know(5); }

  /// Makes `hosts` hosts of `entities` entities silent: the first host at `at`, each further host a
  /// millisecond later.
  void silence(unsigned hosts, unsigned entities, MonotonicTime at) {
    for (unsigned i = 0; i < hosts; ++i)
      judge.silent("host" + std::to_string(i), static_cast<int>(i % entities),
                   at + std::chrono::milliseconds(i));
    judge.wait_for_sign(at + std::chrono::milliseconds(hosts - 1));
  }
  Verdict of(MonotonicTime ended, MonotonicTime now) const { return judge.judge(ended - 5s, ended, now); }
  void fail_checks(MonotonicTime now) {
    const auto wanted = judge.wanted_checks(now);
    judge.checking(wanted, now);
    for (unsigned i = 0; i < wanted; ++i) judge.check_failed(now, now + 5s);
  }
  /// Begins an outage, with a silence and failed checks.
  void begin_outage() {
    silence(20, 5, start);
    fail_checks(start + 10s);
    BOOST_REQUIRE(judge.outage().has_value());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(after_any_answer_a_silence_counts_as_a_failure_at_once, Judged) {
  silence(100, 20, start);
  BOOST_CHECK(of(start, start + 1s) == Verdict::open);
  judge.heard(start + 1s);
  BOOST_CHECK(of(start, start + 1s) == Verdict::theirs);
  BOOST_CHECK(of(start + 1s, start + 1s) == Verdict::theirs);  // an answer at the very end of the attempt
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 11s), 0U);
}

BOOST_AUTO_TEST_CASE(a_few_silent_ones_are_theirs_after_ten_seconds) {
  for (const auto& [hosts, entities] : {std::pair{1U, 1U}, {19U, 19U}, {100U, 4U}}) {
    Judged judged;
    judged.silence(hosts, entities, start);
    BOOST_CHECK(judged.of(start, start + 9s) == Verdict::open);
    BOOST_CHECK(judged.of(start, start + 10s) == Verdict::theirs);
    BOOST_CHECK_EQUAL(judged.judge.wanted_checks(start + 60s), 0U);  // no attempt waits for a verdict
  }
}

BOOST_FIXTURE_TEST_CASE(many_are_checked_after_two_seconds_and_wait_for_that, Judged) {
  silence(20, 5, start);
  judge.checking(5, start + 1s);
  for (int i = 0; i < 5; ++i) judge.check_failed(start + 1s, start + 2s);
  BOOST_CHECK(!judge.outage());  // these checks began too early
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 2s), 5U);
  judge.checking(5, start + 2s);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 4s), 0U);
  BOOST_CHECK(of(start, start + 14s) == Verdict::open);
  for (int i = 0; i < 4; ++i) judge.check_failed(start + 2s, start + 7s);
  BOOST_CHECK(of(start, start + 7s) == Verdict::open);
  judge.check_failed(start + 2s, start + 7s);
  BOOST_CHECK(of(start, start + 7s) == Verdict::ours);
  BOOST_CHECK(judge.outage() == start);
}

BOOST_FIXTURE_TEST_CASE(one_successful_check_prevents_an_outage, Judged) {
  silence(100, 20, start);
  judge.checking(5, start + 10s);
  for (int i = 0; i < 4; ++i) judge.check_failed(start + 10s, start + 11s);
  judge.heard(start + 12s);
  judge.check_failed(start + 10s, start + 15s);
  BOOST_CHECK(!judge.outage());
  BOOST_CHECK(of(start, start + 15s) == Verdict::theirs);
}

BOOST_FIXTURE_TEST_CASE(with_too_few_hosts_to_ask_none_is_declared, Judged) {
  silence(100, 20, start);
  judge.checking(4, start + 10s);
  for (int i = 0; i < 4; ++i) judge.check_failed(start + 10s, start + 11s);
  BOOST_CHECK(!judge.outage());
  BOOST_CHECK(of(start, start + 11s) == Verdict::theirs);
}

BOOST_FIXTURE_TEST_CASE(the_latest_silence_of_a_host_counts_in_whatever_order_it_is_told, Judged) {
  judge.silent("host", 1, start + 2s);
  judge.silent("host", 1, start);
  judge.heard(start + 1s);
  BOOST_CHECK(judge.is_silent("host"));
}

BOOST_FIXTURE_TEST_CASE(after_an_answer_too_few_hosts_to_ask_are_no_reason_any_more, Judged) {
  silence(100, 20, start);
  judge.checking(4, start + 10s);
  judge.heard(start + 12s);
  silence(100, 20, start + 20s);
  BOOST_CHECK(of(start + 20s, start + 21s) == Verdict::open);
}

BOOST_FIXTURE_TEST_CASE(one_answer_ends_an_outage_but_earlier_attempts_stay_excused, Judged) {
  begin_outage();
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 16s), 5U);  // checks go on
  judge.heard(start - 1s);                                  // an answer from before the outage, reported late
  BOOST_CHECK(judge.outage().has_value());
  judge.heard(start + 60s);
  BOOST_CHECK(!judge.outage());
  BOOST_CHECK(of(start + 63s, start + 63s) == Verdict::ours);
  judge.heard(start + 70s);
  BOOST_CHECK(of(start + 66s, start + 70s) == Verdict::theirs);
}

BOOST_FIXTURE_TEST_CASE(attempts_beyond_the_longest_outage_are_failures, Judged) {
  begin_outage();
  BOOST_CHECK(of(start + 23h, start + 23h) == Verdict::ours);
  BOOST_CHECK(of(start + 24h, start + 24h) == Verdict::theirs);
  judge.heard(start + 30h);
  BOOST_CHECK(of(start + 30h + 1s, start + 30h + 1s) == Verdict::open);  // a new silence
}

BOOST_FIXTURE_TEST_CASE(a_few_are_asked_at_once_and_one_answer_settles_it, Judged) {
  silence(1, 1, start);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start), 4U);
  judge.checking(4, start);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 500ms), 0U);
  judge.check_failed(start, start + 600ms);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 1s), 4U);
  judge.heard(start + 1s);
  BOOST_CHECK(of(start, start + 1s) == Verdict::theirs);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 3s), 0U);
}

BOOST_FIXTURE_TEST_CASE(while_many_are_silent_more_are_asked, Judged) {
  silence(19, 5, start);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 1s), 4U);
  silence(20, 5, start);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 1s), 15U);
}

BOOST_FIXTURE_TEST_CASE(checks_begun_before_the_decision_are_ignored, Judged) {
  silence(100, 20, start);
  judge.checking(5, start + 1s);
  judge.checking(5, start + 10s);
  for (int i = 0; i < 5; ++i) judge.check_failed(start + 1s, start + 14s);
  BOOST_CHECK(!judge.outage());
  for (int i = 0; i < 5; ++i) judge.check_failed(start + 10s, start + 15s);
  BOOST_CHECK(judge.outage().has_value());
}

BOOST_FIXTURE_TEST_CASE(checks_that_told_nothing_are_replaced, Judged) {
  silence(100, 20, start);
  judge.checking(5, start + 10s);
  for (int i = 0; i < 3; ++i) judge.check_failed(start + 10s, start + 12s);
  judge.check_told_nothing(start + 10s);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 12s), 0U);
  judge.check_told_nothing(start + 10s);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 12s), 5U);
  judge.checking(5, start + 12s);
  judge.check_told_nothing(start + 10s);  // a result of the first checks, too late
  for (int i = 0; i < 5; ++i) judge.check_failed(start + 12s, start + 14s);
  BOOST_CHECK(judge.outage().has_value());
}

BOOST_FIXTURE_TEST_CASE(with_too_few_known_hosts_no_attempt_waits, Judged) {
  judge.know(4);
  silence(100, 20, start);
  BOOST_CHECK(of(start, start) == Verdict::theirs);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 10s), 0U);
}

BOOST_AUTO_TEST_CASE(it_can_be_off) {
  OutageJudge judge({});
  judge.know(5);
  for (int i = 0; i < 100; ++i) judge.silent(std::to_string(i), i, start);
  BOOST_CHECK(judge.judge(start - 5s, start, start) == Verdict::theirs);
  BOOST_CHECK_EQUAL(judge.wanted_checks(start + 1min), 0U);
}

BOOST_FIXTURE_TEST_CASE(what_is_remembered_is_bounded, Judged) {
  silence(100'000, 1, start);
  BOOST_CHECK(judge.is_silent("host0") && !judge.is_silent("host99999"));
  judge.heard(start + 1h);
  BOOST_CHECK(!judge.is_silent("host0"));
}

// The link fails every 40 s and works again 20 s later. Attempts are judged `ours` 15 s after each failure.
BOOST_FIXTURE_TEST_CASE(a_flapping_link_keeps_nothing_for_long, Judged) {
  auto now = start;
  for (int turn = 0; turn < 20; ++turn, now += 40s) {
    silence(40, 10, now);
    const auto ended = now + 39ms;
    BOOST_CHECK(of(ended, now + 9s) == Verdict::open);
    fail_checks(now + 10s);
    BOOST_CHECK(of(ended, now + 15s) == Verdict::ours);
    judge.heard(now + 20s);
    BOOST_CHECK(!judge.outage());
  }
}

// Tests of KnownHosts, which remembers hosts that have answered.

namespace {

using dispatcher::KnownHosts;
const auto address = platform::IpAddress::parse("203.0.113.7").value();
const auto anybody = [](const std::string&) { return KnownHosts::Use::first; };

}  // namespace

BOOST_AUTO_TEST_CASE(hosts_of_different_entities_are_picked_each_in_turn) {
  KnownHosts hosts;
  std::mt19937_64 random(7);
  for (int entity = 0; entity < 10; ++entity) {
    for (int host = 0; host < 3; ++host)
      hosts.note(std::to_string(entity) + "." + std::to_string(host), entity, address, start);
  }
  std::set<delivery::EntityId> entities;
  for (const auto& host : hosts.pick(start, 5, start + 1s, random, anybody)) entities.insert(host.entity);
  BOOST_CHECK_EQUAL(entities.size(), 5U);
  std::set<std::string> asked;
  for (int turn = 0; turn < 30; ++turn) {
    for (const auto& host : hosts.pick(start, 5, start + 2s + turn * 1s, random, anybody))
      asked.insert(host.host);
  }
  BOOST_CHECK_EQUAL(asked.size(), 30U);  // in the end, all hosts
}

BOOST_AUTO_TEST_CASE(silent_hosts_are_picked_last_and_old_ones_never) {
  KnownHosts hosts;
  std::mt19937_64 random(7);
  for (int i = 0; i < 4; ++i) hosts.note("silent" + std::to_string(i), i, address, start);
  hosts.note("good", 10, address, start);
  hosts.note("old", 11, address, start - 1h);
  hosts.note("never", 12, address, start);
  const auto use = [](const std::string& host) {
    using enum KnownHosts::Use;
    return host == "never" ? never : host.starts_with("silent") ? last : first;
  };
  const auto picked = hosts.pick(start, 3, start, random, use);
  BOOST_REQUIRE_EQUAL(picked.size(), 3U);
  BOOST_CHECK_EQUAL(picked[0].host, "good");
  BOOST_CHECK_EQUAL(hosts.pick(start, 100, start, random, use).size(), 5U);
}

BOOST_AUTO_TEST_CASE(entities_are_picked_in_turn_however_many_hosts_they_have) {
  KnownHosts hosts;
  std::mt19937_64 random(7);
  for (int entity = 0; entity < 20; ++entity) {
    for (int host = 0; host < (entity < 10 ? 8 : 1); ++host)
      hosts.note(std::to_string(entity) + "." + std::to_string(host), entity, address, start);
  }
  std::set<delivery::EntityId> entities;
  for (int turn = 0; turn < 4; ++turn) {
    for (const auto& host : hosts.pick(start, 5, start + 1s + turn * 1s, random, anybody))
      entities.insert(host.entity);
  }
  BOOST_CHECK_EQUAL(entities.size(), 20U);
}

BOOST_AUTO_TEST_CASE(a_host_unseen_for_an_hour_makes_way_for_a_new_one) {
  KnownHosts hosts;
  for (int i = 0; i < 8; ++i) hosts.note(std::to_string(i), 1, address, start + i * 1s);
  hosts.note("new", 1, address, start + 30min);
  BOOST_CHECK(!hosts.seen_since("new", start));
  hosts.note("new", 1, address, start + 61min);
  BOOST_CHECK(hosts.seen_since("new", start) && !hosts.seen_since("0", start));
  BOOST_CHECK_EQUAL(hosts.size(), KnownHosts::most_of_entity);
}

BOOST_AUTO_TEST_CASE(a_host_can_be_forgotten) {
  KnownHosts hosts;
  for (const auto* host : {"one", "two"}) hosts.note(host, 1, address, start);
  hosts.forget("one");
  hosts.forget("unknown");
  BOOST_CHECK_EQUAL(hosts.size(), 1U);
  hosts.forget("two");
  BOOST_CHECK_EQUAL(hosts.entities(), 0U);
}

BOOST_AUTO_TEST_CASE(one_entity_does_not_fill_the_room_of_others) {
  KnownHosts hosts;
  for (int i = 0; i < 1000; ++i) hosts.note(std::to_string(i), 1, address, start);
  BOOST_CHECK_EQUAL(hosts.size(), KnownHosts::most_of_entity);
  for (int i = 0; i < 10'000; ++i)
    hosts.note("h" + std::to_string(i), 100 + i, address, start + std::chrono::milliseconds(i));
  BOOST_CHECK_LE(hosts.size(), KnownHosts::most);
  BOOST_CHECK(hosts.seen_since("h9999", start));
}

BOOST_AUTO_TEST_CASE(hosts_that_answered_at_one_moment_are_not_forgotten_all_at_once) {
  KnownHosts hosts;
  for (std::size_t i = 0; i <= KnownHosts::most; ++i)
    hosts.note(std::to_string(i), delivery::EntityId(static_cast<std::int64_t>(i) + 1), address, start);
  BOOST_CHECK_GE(hosts.size(), KnownHosts::most / 10 * 9);
  BOOST_CHECK_LE(hosts.size(), KnownHosts::most);
}

BOOST_AUTO_TEST_SUITE_END()
