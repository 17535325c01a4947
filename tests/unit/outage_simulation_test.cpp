// Simulates outages: attempts and checks of receivers behind a link that can be cut. It asserts what
// docs/delivery.md#our-own-outages states.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/outage/known_hosts.hpp"
#include "dispatcher/outage/outage_judge.hpp"

BOOST_AUTO_TEST_SUITE(outage_simulation)

namespace {

using namespace std::chrono_literals;
using delivery::EntityId;
using dispatcher::KnownHosts;
using dispatcher::OutageJudge;
using platform::MonotonicTime;
using Time = platform::Milliseconds;
using Verdict = OutageJudge::Verdict;

constexpr Time step = 100ms;
constexpr Time answer_time = 20ms;
constexpr Time time_out = 5s;
constexpr std::size_t under_way_in_outage = 10;
const auto address = platform::IpAddress::parse("203.0.113.7").value();

class Simulation {
 public:
  explicit Simulation(const OutageJudge::Rule& rule = {.longest = 24h}, unsigned seed = 7)
      : judge_(rule), random_(seed) {}

  /// Adds an entity with hosts that have answered before.
  void add_entity(unsigned hosts) {
    entities_ = entities_.next();
    for (unsigned i = 0; i < hosts; ++i) {
      const auto name = to_string(entities_) + "." + std::to_string(i);
      hosts_[name] = {entities_, true};
      names_.push_back(name);
      known_.note(name, entities_, address, now_);
    }
  }
  void add_entities(unsigned count, unsigned hosts) {
    for (unsigned i = 0; i < count; ++i) add_entity(hosts);
  }
  void set_link(bool up) { link_ = up; }
  /// Without a route, attempts end at once.
  void set_route(bool there) {
    link_ = there;
    failure_time_ = there ? time_out : 0ms;
  }
  void kill(const std::string& host) { hosts_.at(host).alive = false; }

  /// Makes `rate` attempts a second (fewer in an outage), to the hosts of `names` in turn.
  void run(Time time, double rate, const std::vector<std::string>& names) {
    for (const auto end = now_ + time; now_ < end; now_ += step) {
      due_ += rate * std::chrono::duration<double>(step).count();
      for (; due_ >= 1; due_ -= 1) {
        const bool limited = judge_.outage() && attempts_.size() >= under_way_in_outage;
        if (!limited) attempt(names.at(next_++ % names.size()));
      }
      round();
    }
  }
  void run(Time time, double rate) { run(time, rate, names_); }

  const OutageJudge& judge() const { return judge_; }
  MonotonicTime now() const { return now_; }

  unsigned theirs = 0;
  unsigned ours = 0;
  unsigned outages = 0;
  Time longest_kept{};

 private:
  struct Host {
    EntityId entity = 0;
    bool alive = true;
  };
  struct Attempt {
    std::string host;
    MonotonicTime began;
    MonotonicTime ends;
    bool check = false;
    bool answered = false;
  };

  bool answers(const std::string& host) const { return link_ && hosts_.at(host).alive; }
  void attempt(const std::string& host) { begin(attempts_, host, false); }
  void begin(std::deque<Attempt>& list, const std::string& host, bool check) {
    const bool answered = answers(host);
    list.push_back({host, now_, now_ + (answered ? answer_time : failure_time_), check, answered});
  }

  void round() {
    end(attempts_);
    end(checks_);
    ask();
    outages += judge_.outage() && !was_outage_ ? 1 : 0;
    was_outage_ = judge_.outage().has_value();
    std::erase_if(kept_, [this](const Attempt& one) { return release(one); });
  }

  void end(std::deque<Attempt>& list) {
    std::erase_if(list, [this](const Attempt& one) {
      if (now_ < one.ends) return false;
      if (one.answered)
        judge_.heard(one.ends);
      else if (one.check)
        fail(one);
      else
        keep(one);
      return true;
    });
  }

  void fail(const Attempt& check) {
    judge_.silent(check.host, hosts_.at(check.host).entity, check.ends);
    judge_.check_failed(check.began, check.ends);
  }

  void keep(const Attempt& one) {
    judge_.silent(one.host, hosts_.at(one.host).entity, one.ends);
    judge_.wait_for_sign(one.ends);
    kept_.push_back(one);
  }

  bool release(const Attempt& one) {
    const auto verdict = judge_.judge(one.began, one.ends, now_);
    if (verdict == Verdict::open) return false;
    ++(verdict == Verdict::ours ? ours : theirs);
    longest_kept = std::max(longest_kept, std::chrono::duration_cast<Time>(now_ - one.ends));
    return true;
  }

  void ask() {
    judge_.know(known_.entities());
    const auto wanted = judge_.wanted_checks(now_);
    if (wanted == 0) return;
    const auto use = [this](const std::string& host) {
      return !judge_.outage() && judge_.is_silent(host) ? KnownHosts::Use::last : KnownHosts::Use::first;
    };
    const auto picked = known_.pick(now_ - 168h, wanted, now_, random_, use);
    judge_.checking(static_cast<unsigned>(picked.size()), now_);
    for (const auto& host : picked) begin(checks_, host.host, true);
  }

  OutageJudge judge_;
  KnownHosts known_;
  std::mt19937_64 random_;
  MonotonicTime now_{200h};
  std::map<std::string, Host> hosts_;
  std::vector<std::string> names_;
  EntityId entities_ = 0;
  std::deque<Attempt> attempts_;
  std::deque<Attempt> checks_;
  std::vector<Attempt> kept_;
  bool link_ = true;
  Time failure_time_ = time_out;
  bool was_outage_ = false;
  double due_ = 0;
  std::size_t next_ = 0;
};

/// Twenty entities with five hosts each.
struct Busy : Simulation {
  explicit Busy(const OutageJudge::Rule& rule = {.longest = 24h}) : Simulation(rule) { add_entities(20, 5); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_cut_cable_counts_as_no_receiver_failure) {
  Busy simulation;
  simulation.run(10s, 200);
  simulation.set_link(false);
  simulation.run(60s, 200);
  BOOST_CHECK(simulation.judge().outage().has_value());
  BOOST_CHECK_GE(simulation.ours, 2000U);  // most of these attempts began before the outage was declared
  simulation.set_link(true);
  simulation.run(2s, 200);
  BOOST_CHECK(!simulation.judge().outage());
  simulation.run(20s, 200);
  BOOST_CHECK_EQUAL(simulation.theirs, 0U);
  BOOST_CHECK_EQUAL(simulation.outages, 1U);
  BOOST_CHECK_LE(simulation.longest_kept.count(), 16'000);
}

// Few attempts are made at night, and while receivers that never answer take up the slots.
BOOST_AUTO_TEST_CASE(a_quiet_service_learns_of_an_outage_from_its_checks) {
  for (const auto set : {&Busy::set_route, &Busy::set_link}) {
    Busy simulation;
    (simulation.*set)(false);
    simulation.run(1min, 0.2);
    BOOST_CHECK(simulation.judge().outage().has_value());
    (simulation.*set)(true);
    simulation.run(20s, 0.2);
    BOOST_CHECK_EQUAL(simulation.theirs, 0U);
    BOOST_CHECK_EQUAL(simulation.outages, 1U);
  }
}

BOOST_AUTO_TEST_CASE(on_a_busy_service_a_hundred_black_holes_are_told_at_once) {
  Busy simulation;
  simulation.add_entities(20, 5);
  for (int entity = 1; entity <= 20; ++entity)
    for (int host = 0; host < 5; ++host) simulation.kill(std::to_string(entity) + "." + std::to_string(host));
  simulation.run(2min, 200);
  BOOST_CHECK_EQUAL(simulation.ours, 0U);
  BOOST_CHECK_GT(simulation.theirs, 1000U);
  BOOST_CHECK_LE(simulation.longest_kept.count(), 1000);
}

// All 100 hosts of twenty entities are black holes. Attempts go to 20 of these hosts, which belong to five
// entities: with fewer silent hosts or entities the judge would suspect no outage. No attempt has shown the
// judge that the other 80 hosts are silent, too, so they may be checked first.
BOOST_AUTO_TEST_CASE(on_a_quiet_service_black_holes_of_twenty_entities_feign_no_outage) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Simulation simulation({.longest = 24h}, seed);
    simulation.add_entities(20, 5);
    std::vector<std::string> holes;
    for (int entity = 1; entity <= 20; ++entity) {
      for (int host = 0; host < 5; ++host) {
        const auto name = std::to_string(entity) + "." + std::to_string(host);
        simulation.kill(name);
        if (entity <= 5 && host < 4) holes.push_back(name);
      }
    }
    simulation.add_entities(6, 1);  // these answer
    simulation.run(1min, 20, holes);
    BOOST_CHECK_EQUAL(simulation.outages, 0U);
    BOOST_CHECK_GT(simulation.theirs, 500U);
  }
}

BOOST_AUTO_TEST_CASE(a_flapping_link_counts_as_no_receiver_failure) {
  Busy simulation;
  for (int turn = 0; turn < 10; ++turn) {
    simulation.set_link(false);
    simulation.run(30s, 200);
    simulation.set_link(true);
    simulation.run(1s, 200);
  }
  simulation.run(10s, 200);
  BOOST_CHECK_EQUAL(simulation.outages, 10U);
  BOOST_CHECK_EQUAL(simulation.theirs, 0U);
  BOOST_CHECK_LE(simulation.longest_kept.count(), 16'000);
}

BOOST_AUTO_TEST_CASE(failures_count_beyond_the_longest_outage) {
  Busy simulation({.longest = 1min});
  simulation.set_link(false);
  simulation.run(1min, 200);
  BOOST_CHECK_EQUAL(simulation.theirs, 0U);
  simulation.run(1min, 200);
  BOOST_CHECK_GT(simulation.theirs, 0U);
  simulation.set_link(true);
  simulation.run(2s, 200);
  BOOST_CHECK(!simulation.judge().outage());
}

BOOST_AUTO_TEST_CASE(with_hosts_of_four_entities_failures_count_as_ever) {
  Simulation simulation;
  simulation.add_entities(4, 50);
  simulation.set_link(false);
  simulation.run(1min, 200);
  BOOST_CHECK_EQUAL(simulation.outages, 0U);
  BOOST_CHECK_EQUAL(simulation.ours, 0U);
  BOOST_CHECK_LE(simulation.longest_kept.count(), step.count());
}

BOOST_AUTO_TEST_CASE(five_names_of_five_entities_are_enough_for_the_name_servers) {
  Simulation simulation({.places = 5, .longest = 24h});
  simulation.add_entities(6, 1);
  simulation.run(5s, 10);
  simulation.set_link(false);
  simulation.run(30s, 10);
  BOOST_CHECK(simulation.judge().outage().has_value());
  simulation.set_link(true);
  simulation.run(2s, 10);
  BOOST_CHECK(!simulation.judge().outage());
  BOOST_CHECK_EQUAL(simulation.theirs, 0U);
}

BOOST_AUTO_TEST_SUITE_END()
