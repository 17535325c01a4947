// Asks for replays, makes their deliveries due (`feed`) and records results, step by step.
#pragma once

#include <boost/test/unit_test.hpp>

#include "lib/store/deliveries/delivery_log.hpp"
#include "lib/store/replays/replay_feed.hpp"
#include "lib/store/replays/replays.hpp"
#include "tests/store/delivery_support.hpp"

namespace store::testing {

inline constexpr unsigned most_untried = 5;
inline constexpr unsigned no_limit = 0;
inline constexpr FailurePolicy patient{platform::Milliseconds(0), std::chrono::minutes(15)};

struct ReplayFixture : DeliveryFixture {
  Author author{1, 7};
  ReplayRange all{UtcTime{}, {}, {}, true, true};
  ReplayRange failed{UtcTime{}};

  /// Walks once over all webhooks with unfinished replays, and makes deliveries due.
  ReplayWalk feed() {
    ReplayWalk walk;
    while (!walk.done) feed_replays(session, most_untried, walk);
    return walk;
  }
  std::uint64_t fed() { return feed().replayed; }
  AskedReplay ask(DeliveryId id) { return ask_replay(session, author, webhook.id, id, no_limit); }
  AskedReplay ask(const ReplayRange& range) {
    return ask_replay(session, author, webhook.id, range, no_limit);
  }
  ReplayProgress progress(const AskedReplay& asked) {
    return find_replay(session, webhook.id, asked.replay.id).value();
  }
  DeliveryId newest(std::string_view state) {
    add_deliveries(1, state, 0);
    return session.query("SELECT MAX(id) AS id FROM entregas").at(0).integer("id");
  }
  void succeed(const LeasedDelivery& leased) { record_results(session, {delivered(leased)}, patient); }
  void fail(const LeasedDelivery& leased, std::optional<int> status, bool exhausted = false) {
    auto result = failed_attempt(leased, std::chrono::hours(10));
    result.status = status;
    result.failures = leased.failures + 1;
    if (exhausted) {
      result.state = DeliveryState::failed;
      result.wait.reset();
    }
    record_results(session, {result}, patient);
  }
  std::string shown(DeliveryId id) { return find_evidence(session, webhook.id, id)->delivery.state; }
};

}  // namespace store::testing
