// A replay counts the result of each of its deliveries when the delivery ends. Nothing changes a counted
// result.
#include <boost/test/unit_test.hpp>

#include "lib/store/maintenance/held.hpp"
#include "tests/store/replay_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;

namespace {

struct Fixture : ReplayFixture {
  void check(const AskedReplay& asked, std::uint64_t delivered, std::uint64_t failed) {
    const auto shown = progress(asked);
    BOOST_TEST(shown.delivered == delivered);
    BOOST_TEST(shown.failed == failed);
  }
  void finish_all() {
    while (feed().webhooks > 0)
      for (const auto& leased : claim_some(10)) succeed(leased);
  }
  AskedReplay replay_one(DeliveryId id) {
    const auto asked = ask(id);
    BOOST_TEST(fed() == 1U);
    return asked;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(replay_outcome, Fixture)

BOOST_AUTO_TEST_CASE(a_later_replay_changes_nothing_of_an_earlier_one) {
  const auto id = newest("fallida");
  const auto first = replay_one(id);
  fail(claim_one(), 400, true);
  check(first, 0, 1);
  const auto second = replay_one(id);
  check(first, 0, 1);
  succeed(claim_one());
  check(first, 0, 1);
  check(second, 1, 0);
}

BOOST_AUTO_TEST_CASE(an_expired_hold_fails_a_replay_and_a_cancellation_does_not) {
  const auto cancelled = replay_one(newest("fallida"));
  enable_webhook(session, webhook.id, true);
  check(cancelled, 0, 0);
  const auto held = replay_one(newest("fallida"));
  session.update(
      "UPDATE entregas SET estado = 'retenida', proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 100 DAY"
      " WHERE estado = 'pendiente'");
  HeldWalk walk;
  while (!walk.done) give_up_held(session, std::chrono::days(90), walk);
  check(held, 0, 1);
  add_deliveries(1, "fallida", 0);
  ask(failed);
  finish_all();
  check(cancelled, 0, 0);
  check(held, 0, 1);
}

BOOST_AUTO_TEST_CASE(a_purge_does_not_change_the_counts_of_a_replay) {
  add_deliveries(12, "fallida", 0);
  const auto asked = ask(failed);
  finish_all();
  check(asked, 12, 0);
  session.execute("DELETE FROM intentos_entrega");
  session.execute("DELETE FROM entregas");
  check(asked, 12, 0);
}

BOOST_AUTO_TEST_CASE(showing_a_large_replay_costs_no_more_than_a_small_one) {
  const auto cost = [&](unsigned count) {
    add_deliveries(count, "fallida", 0);
    const auto asked = ask(failed);
    finish_all();
    check(asked, count, 0);
    const auto before = rows_read(session);
    progress(asked);
    return rows_read(session) - before;
  };
  const auto few = cost(10);
  BOOST_CHECK_LE(cost(200), few + 30);
  const auto kept = session.query("SELECT COUNT(*) AS filas FROM reenvios_entregas").at(0).integer("filas");
  BOOST_CHECK_LT(kept, 30);
}

BOOST_AUTO_TEST_CASE(two_replays_of_one_delivery_come_to_the_same) {
  const auto id = newest("fallida");
  const auto first = replay_one(id);
  fail(claim_one(), 400);
  const auto second = replay_one(id);  // the waiting retry is brought forward
  succeed(claim_one());
  check(first, 1, 0);
  check(second, 1, 0);
}

BOOST_AUTO_TEST_CASE(a_retry_by_the_operator_does_not_change_a_replay_outcome) {
  const auto id = newest("fallida");
  const auto asked = replay_one(id);
  fail(claim_one(), 400, true);
  retry_delivery(session, id);
  succeed(claim_one());
  check(asked, 0, 1);
}

BOOST_AUTO_TEST_SUITE_END()
