// Simulates slots under load: claims every 10 ms, receivers of all kinds, results recorded 20 ms after the
// end of an attempt. The tests assert the bounds that docs/delivery.md#how-slots-are-shared states.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/schedule/fair_slots.hpp"

BOOST_AUTO_TEST_SUITE(fair_slots_simulation)

namespace {

using namespace std::chrono_literals;
using delivery::EntityId;
using delivery::WebhookId;
using dispatcher::FairSlots;
using Time = platform::Milliseconds;

constexpr Time round_time = 10ms;
constexpr Time until_recorded = 20ms;
constexpr Time time_out = 15s;

struct Receiver {
  EntityId entity = 0;
  Time answers_in{};  // time_out or more: it never answers
  std::string host;
  double rows_per_second = 0;  // 0: an endless backlog
};

class Simulation {
 public:
  explicit Simulation(unsigned total, unsigned per_host = 10'000)
      : slots_({.total = total, .per_webhook = 10, .per_host = per_host, .longest = time_out}) {}

  WebhookId add(const Receiver& receiver) {
    const auto id = WebhookId(static_cast<std::int64_t>(webhooks_.size() + 1));
    Webhook webhook;
    webhook.receiver = receiver;
    if (webhook.receiver.host.empty()) webhook.receiver.host = "h" + to_string(id);
    webhook.next_row = now_;
    webhooks_.push_back(webhook);
    return id;
  }
  /// Adds `count` webhooks, five for each entity from `entity` on.
  void add_crowd(unsigned count, EntityId entity, Time answers_in) {
    for (unsigned i = 0; i < count; ++i) add({entity.number() + i / 5, answers_in, {}, 0});
  }
  void run(Time time) {
    for (const auto end = now_ + time; now_ < end; now_ += round_time) round();
  }
  /// Begins to measure anew.
  void measure() {
    used_.clear();
    waits_.clear();
  }

  /// Slot-time of the entity's attempts that have ended, in milliseconds.
  double used(EntityId entity) { return used_[entity]; }
  /// The time that rows waited for the start of their attempt: the longest, and the 99th percentile.
  Time longest_wait(WebhookId id) { return quantile(id, 1); }
  Time p99_wait(WebhookId id) { return quantile(id, 0.99); }
  std::size_t sent(WebhookId id) { return waits_[id].size(); }
  unsigned started() const { return active_; }
  unsigned most_at(const std::string& host) const { return most_at_host_.at(host); }

 private:
  struct Row {
    WebhookId webhook;
    Time written;
  };
  struct Webhook {
    Receiver receiver;
    bool one_at_a_time = false;
    Time next_row{};
    std::deque<Time> due;   // when each row was written
    std::deque<Row> queue;  // claimed, and not yet sent
    unsigned slots = 1;
    unsigned active = 0;
  };
  enum class What { ended, recorded };
  struct Event {
    Time at;
    What what;
    WebhookId webhook;
    bool operator>(const Event& other) const { return at > other.at; }
  };

  Webhook& of(WebhookId id) { return webhooks_[static_cast<std::size_t>(id.number()) - 1]; }

  void round() {
    write_rows();
    while (!events_.empty() && events_.top().at <= now_) {
      const auto event = events_.top();
      events_.pop();
      event.what == What::ended ? end(event.webhook) : slots_.recorded(event.webhook);
    }
    claim();
  }

  void write_rows() {
    for (std::size_t i = 0; i < webhooks_.size(); ++i) {
      auto& webhook = webhooks_[i];
      const auto rate = webhook.receiver.rows_per_second;
      while (rate == 0 ? webhook.due.size() < 20 : webhook.next_row <= now_) {
        webhook.due.push_back(rate == 0 ? now_ : webhook.next_row);
        if (rate > 0) webhook.next_row += Time(static_cast<int>(1000 / rate));
      }
      if (webhook.due.empty()) continue;
      const auto id = WebhookId(static_cast<std::int64_t>(i + 1));
      slots_.identify({id, webhook.receiver.entity, webhook.receiver.host, webhook.one_at_a_time});
      slots_.wait(id);
    }
  }

  void claim() {
    const auto candidates = slots_.next(64);
    dispatcher::Grants grants(slots_);
    for (const auto& [id, count] : dispatcher::share_out(slots_, candidates, 512, grants)) {
      auto& webhook = of(id);
      for (unsigned i = 0; i < count && !webhook.due.empty(); ++i) {
        grants.keep(id);
        webhook.queue.push_back({id, webhook.due.front()});
        webhook.due.pop_front();
      }
      if (webhook.due.empty()) slots_.stop_waiting(id);
      webhook.slots = slots_.slots(id);
      start(id);
    }
  }

  void start(WebhookId id) {
    auto& webhook = of(id);
    while (webhook.active < webhook.slots && !webhook.queue.empty()) {
      const auto row = webhook.queue.front();
      webhook.queue.pop_front();
      waits_[id].push_back(now_ - row.written);
      ++webhook.active;
      ++active_;
      auto& most = most_at_host_[webhook.receiver.host];
      most = std::max(most, ++at_host_[webhook.receiver.host]);
      events_.push({now_ + std::min(webhook.receiver.answers_in, time_out), What::ended, id});
    }
  }

  void end(WebhookId id) {
    auto& webhook = of(id);
    --webhook.active;
    --active_;
    --at_host_[webhook.receiver.host];
    const bool failed = webhook.receiver.answers_in >= time_out;
    const auto took = std::min(webhook.receiver.answers_in, time_out);
    used_[webhook.receiver.entity] += static_cast<double>(took.count());
    slots_.ended(id, failed ? FairSlots::End::failed : FairSlots::End::answered, took);
    webhook.one_at_a_time = failed;
    events_.push({now_ + until_recorded, What::recorded, id});
    start(id);
  }

  Time quantile(WebhookId id, double part) {
    auto waits = waits_[id];
    if (waits.empty()) return Time::max();
    std::ranges::sort(waits);
    return waits[static_cast<std::size_t>(part * static_cast<double>(waits.size() - 1))];
  }

  Time now_{1s};
  FairSlots slots_;
  std::vector<Webhook> webhooks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::map<EntityId, double> used_;
  std::map<WebhookId, std::vector<Time>> waits_;
  std::map<std::string, unsigned> at_host_;
  std::map<std::string, unsigned> most_at_host_;
  unsigned active_ = 0;
};

constexpr int healthy = 100'000;

}  // namespace

BOOST_AUTO_TEST_CASE(entities_that_want_more_than_there_is_get_the_same_slot_time) {
  Simulation simulation(128);
  simulation.add_crowd(25, 1, 13s);     // entities 1 to 5
  simulation.add_crowd(25, 11, 1s);     // 11 to 15
  simulation.add_crowd(25, 21, 200ms);  // 21 to 25
  simulation.run(time_out * 2);
  simulation.measure();
  simulation.run(time_out * 10);
  double all = 0;
  for (const int first : {1, 11, 21})
    for (int entity = first; entity < first + 5; ++entity) all += simulation.used(entity);
  for (const int first : {1, 11, 21}) {
    for (int entity = first; entity < first + 5; ++entity) {
      BOOST_TEST_CONTEXT("entity " << entity) {
        BOOST_TEST(simulation.used(entity) > all / 15 * 0.9);
        BOOST_TEST(simulation.used(entity) < all / 15 * 1.1);
      }
    }
  }
}

// Max-min fairness: if an entity does not use its whole share, the other entities share the rest.
BOOST_AUTO_TEST_CASE(an_entity_below_its_share_gets_all_it_wants) {
  Simulation simulation(128);
  simulation.add_crowd(50, 1, 13s);
  const auto webhook = simulation.add({healthy, 50ms, {}, 20});  // one slot at a time
  simulation.run(time_out);
  simulation.measure();
  simulation.run(time_out * 10);
  BOOST_TEST(simulation.used(healthy) > 0.95 * 20 * 50 * 150);
  BOOST_TEST(simulation.p99_wait(webhook).count() <= 100);
  for (int entity = 1; entity <= 10; ++entity)
    BOOST_TEST(simulation.used(entity) > (112.0 * 150'000 - simulation.used(healthy)) / 10 * 0.9);
}

BOOST_AUTO_TEST_CASE(alone_a_slow_crowd_has_nearly_all) {
  Simulation simulation(512);
  simulation.add_crowd(100, 1, 13s);
  simulation.run(time_out * 2);
  BOOST_TEST(simulation.started() >= 512U * 7 / 8);
  BOOST_TEST(simulation.started() <= 512U);
}

BOOST_AUTO_TEST_CASE(a_healthy_receiver_does_not_notice_a_hundred_that_answer_after_13_s) {
  Simulation simulation(512);
  simulation.add_crowd(100, 1, 13s);
  simulation.run(time_out);
  const auto webhook = simulation.add({healthy, 5ms, {}, 100});
  simulation.run(time_out * 4);
  BOOST_TEST(simulation.longest_wait(webhook).count() <= 100);
}

BOOST_AUTO_TEST_CASE(two_thousand_silent_receivers_hardly_delay_a_healthy_one) {
  Simulation simulation(512);
  simulation.add_crowd(2'000, 1, time_out);
  simulation.run(time_out);
  const auto webhook = simulation.add({healthy, 5ms, {}, 100});
  simulation.run(time_out * 2);
  // Half of the reserve (32 slots) is for entities that are not known and hold no slot. The 400 silent
  // entities are more than that, so a few rows wait until attempts end.
  BOOST_TEST(simulation.p99_wait(webhook).count() <= 200);
}

BOOST_AUTO_TEST_CASE(receivers_that_turn_slow_do_not_delay_a_healthy_one) {
  Simulation simulation(512);
  const auto webhook = simulation.add({healthy, 5ms, {}, 100});
  simulation.run(5s);
  simulation.add_crowd(250, 1, time_out);  // fifty entities; the reserve has 64 slots
  simulation.measure();
  simulation.run(time_out * 2);
  BOOST_TEST(simulation.longest_wait(webhook).count() <= 100);
}

BOOST_AUTO_TEST_CASE(a_newcomer_does_not_wait) {
  Simulation simulation(512);
  simulation.add_crowd(100, 1, 13s);
  simulation.run(time_out * 4);
  for (int i = 0; i < 50; ++i) {
    const auto webhook = simulation.add({healthy + i, 5ms, {}, 1});
    simulation.run(100ms);
    BOOST_TEST(simulation.longest_wait(webhook).count() <= 20);
  }
}

BOOST_AUTO_TEST_CASE(a_flood_does_not_starve_the_slow) {
  Simulation simulation(64);
  simulation.add_crowd(250, 1, 5ms);  // fifty entities
  simulation.add_crowd(5, 1000, 13s);
  simulation.run(time_out);
  simulation.measure();
  simulation.run(time_out * 10);
  double most = 0;
  for (int entity = 1; entity <= 50; ++entity) most = std::max(most, simulation.used(entity));
  BOOST_TEST(simulation.used(1000) > most * 0.9);
}

// A webhook that could keep a slot busy with one delivery after the other must still give the slot up.
BOOST_AUTO_TEST_CASE(quick_receivers_take_turns_at_few_slots) {
  Simulation simulation(2);
  simulation.add_crowd(10, 1, 20ms);  // two entities
  simulation.run(time_out);
  simulation.measure();
  simulation.run(time_out);
  for (int webhook = 1; webhook <= 10; ++webhook) BOOST_TEST(simulation.sent(webhook) >= 80U);
}

// FairQueue has an account of used slot-time for each entity, and a new entity begins at the minimum of these
// accounts. An entity that always holds a slot, but uses little slot-time, must not keep that minimum low.
// Otherwise new entities would be served before an entity that used slots while they were free.
BOOST_AUTO_TEST_CASE(use_of_spare_slots_does_not_starve_an_entity_later) {
  Simulation simulation(512);
  simulation.add({1, 13s, {}, 0.1});
  WebhookId webhook = 0;
  for (int i = 0; i < 5; ++i) webhook = simulation.add({healthy, 50ms, {}, 100});
  simulation.run(180s);
  simulation.add_crowd(500, 1000, 13s);
  simulation.run(time_out);
  for (int window = 0; window < 4; ++window) {
    simulation.measure();
    simulation.run(time_out);
    BOOST_TEST(simulation.sent(webhook) >= 50U);
  }
}

BOOST_AUTO_TEST_CASE(quick_receivers_take_turns_at_a_full_host) {
  Simulation simulation(512, 2);
  for (int entity = 1; entity <= 3; ++entity) simulation.add({entity, 20ms, "provider", 0});
  simulation.run(time_out);
  simulation.measure();
  simulation.run(time_out);
  for (int webhook = 1; webhook <= 3; ++webhook) BOOST_TEST(simulation.sent(webhook) >= 250U);
}

BOOST_AUTO_TEST_CASE(a_host_limit_holds_for_all_entities_together) {
  Simulation simulation(512, 50);
  for (int entity = 1; entity <= 400; ++entity) {
    for (int i = 0; i < 5; ++i) simulation.add({entity, 200ms, "provider", 0});
  }
  const auto webhook = simulation.add({healthy, 5ms, {}, 100});
  simulation.run(time_out * 2);
  BOOST_TEST(simulation.most_at("provider") <= 50U);
  BOOST_TEST(simulation.started() >= 45U);
  BOOST_TEST(simulation.longest_wait(webhook).count() <= 100);
}

BOOST_AUTO_TEST_CASE(a_slow_request_is_charged_to_its_own_entity) {
  Simulation simulation(512, 50);
  for (int i = 0; i < 5; ++i) simulation.add({1, 13s, "provider", 0});
  simulation.run(time_out);
  const auto webhook = simulation.add({2, 5ms, "provider", 50});
  simulation.run(time_out * 2);
  BOOST_TEST(simulation.longest_wait(webhook).count() <= 100);
}

BOOST_AUTO_TEST_CASE(a_slow_crowd_does_not_hold_up_a_quick_webhook_of_its_host) {
  Simulation simulation(512, 50);
  for (int entity = 1; entity <= 100; ++entity) simulation.add({entity, 9s + entity * 40ms, "provider", 0});
  simulation.run(time_out * 4);
  const auto webhook = simulation.add({healthy, 5ms, "provider", 20});
  simulation.add({healthy + 1, 5ms, {}, 20});
  simulation.run(time_out * 4);
  simulation.measure();
  simulation.run(time_out * 4);
  BOOST_TEST(simulation.p99_wait(webhook).count() <= 1000);
  BOOST_TEST(simulation.longest_wait(webhook).count() <= 3000);
  BOOST_TEST(simulation.sent(webhook) >= 1150U);
}

// After any sequence of events, all wanted deliveries are done, no slot stays taken, and FairSlots remembers
// no webhook.
BOOST_AUTO_TEST_CASE(no_webhook_waits_for_ever_and_no_slot_is_lost) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    FairSlots slots({.total = 1U + static_cast<unsigned>(upto(30)),
                     .per_webhook = 1U + static_cast<unsigned>(upto(5)),
                     .per_host = 1U + static_cast<unsigned>(upto(6)),
                     .longest = time_out});
    std::map<WebhookId, int> wanted;
    std::vector<WebhookId> in_hand;
    std::vector<WebhookId> unrecorded;
    const auto destination = [&](WebhookId id) {
      return dispatcher::Destination{
          id, id.number() / 3, "h" + std::to_string(upto(9) == 0 ? upto(4) : id.number() % 4), upto(9) == 0};
    };
    for (WebhookId id = 1; id <= 60; id = id.next()) {
      wanted[id] = 1 + upto(8);
      slots.identify(destination(id));
      slots.wait(id);
    }
    int rounds = 0;
    while (!wanted.empty() || !in_hand.empty() || !unrecorded.empty()) {
      BOOST_REQUIRE_MESSAGE(++rounds < 20'000, "seed " << seed << ": " << wanted.size() << " wait for ever");
      dispatcher::Grants grants(slots);
      const auto candidates = slots.next(1 + static_cast<std::size_t>(upto(20)));
      for (const auto& [id, count] : dispatcher::share_out(slots, candidates, 50, grants)) {
        for (unsigned i = 0; i < count && wanted[id] > 0 && upto(4) > 0; ++i) {  // some grants are given back
          grants.keep(id);
          in_hand.push_back(id);
          --wanted[id];
        }
        if (wanted[id] == 0) {
          wanted.erase(id);
          slots.stop_waiting(id);
        }
      }
      std::ranges::shuffle(in_hand, random);
      for (int i = upto(5); i > 0 && !in_hand.empty(); --i) {
        const auto outcome = static_cast<FairSlots::End>(upto(3));
        slots.ended(in_hand.back(), outcome, Time(upto(3) == 0 ? upto(15'000) : upto(100)));
        if (outcome == FairSlots::End::not_started) ++wanted[in_hand.back()];
        unrecorded.push_back(in_hand.back());
        in_hand.pop_back();
      }
      for (int i = upto(5); i > 0 && !unrecorded.empty(); --i) {
        const auto id = unrecorded.back();
        unrecorded.pop_back();
        slots.recorded(id);
        if (!wanted.contains(id)) continue;
        slots.identify(destination(id));
        slots.wait(id);
      }
    }
    BOOST_TEST(slots.in_hand() == 0U);
    BOOST_TEST(slots.size() == 0U);
    BOOST_TEST(!slots.full());
  }
}

BOOST_AUTO_TEST_SUITE_END()
