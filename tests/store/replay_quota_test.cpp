// limits.replayed: how many deliveries an entity may have replayed in a day. limits.replay_requests: how many
// replays of a range it may ask for or simulate in an hour.
#include <boost/test/unit_test.hpp>

#include "tests/store/quota_support.hpp"
#include "tests/store/replay_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using enum ReplayAsked;

namespace {

constexpr unsigned hour_s = 3600, day_s = 86400;

struct Fixture : ReplayFixture {
  /// Asks for a replay. Returns the refusal; nullopt: the replay is accepted.
  template <class What>
  std::optional<OverQuota> refused(const What& what, unsigned limit) {
    try {
      BOOST_CHECK(ask_replay(session, author, webhook.id, what, limit).result == done);
      return std::nullopt;
    } catch (const OverQuota& error) {
      BOOST_CHECK(error.quota == Quota::replayed);
      return error;
    }
  }
  void let_pass(const std::string& time) {
    session.execute("UPDATE reenvios SET pedido_en = pedido_en - INTERVAL " + time +
                    ", terminado_en = terminado_en - INTERVAL " + time);
  }
  void finish_all() {
    while (feed().webhooks > 0)
      for (const auto& leased : claim_some(10)) succeed(leased);
  }
  std::int64_t number(const std::string& sql) {
    return session.query("SELECT (" + sql + ") AS number").at(0).integer("number");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(replay_quota, Fixture)

BOOST_AUTO_TEST_CASE(an_entity_has_a_daily_quota_of_replayed_deliveries) {
  add_deliveries(8, "fallida", 0);
  const auto single = newest("fallida");
  const auto range = ask_replay(session, author, webhook.id, failed, 9);
  BOOST_CHECK(range.result == done);
  const auto full = refused(single, 9);
  BOOST_TEST_REQUIRE(full.has_value());
  BOOST_CHECK(full->left == 0 && full->retry_after_s == hour_s);  // the running range counts as nine
  fed();
  cancel_replay(session, author, webhook.id, range.replay.id);  // five of nine were replayed
  const auto rest = refused(ReplayRange{UtcTime{}, {}, {}, false, true}, 5);
  BOOST_TEST_REQUIRE(rest.has_value());
  BOOST_CHECK(rest->left == 0 && rest->retry_after_s > day_s - 100 && rest->retry_after_s <= day_s);
  BOOST_CHECK(!refused(single, 9));
  finish_all();
  let_pass("25 HOUR");
  BOOST_CHECK(!refused(single, 1));
}

BOOST_AUTO_TEST_CASE(a_range_that_runs_for_more_than_a_day_keeps_counting) {
  add_deliveries(9, "fallida", 0);
  BOOST_CHECK(!refused(failed, 9));
  let_pass("30 HOUR");
  BOOST_CHECK(refused(newest("fallida"), 9));
  finish_all();
  BOOST_CHECK(refused(newest("fallida"), 9));  // the range has just ended
  let_pass("25 HOUR");
  BOOST_CHECK(!refused(newest("fallida"), 9));
}

BOOST_AUTO_TEST_CASE(an_unfinished_replay_counts_after_the_deletion_of_its_webhook) {
  add_deliveries(9, "fallida", 0);
  BOOST_CHECK(!refused(failed, 9));
  fed();
  BOOST_REQUIRE(delete_webhook(session, {1}, webhook.id));
  webhook = add_webhook(session, 1);
  const auto other = newest("fallida");
  BOOST_CHECK(refused(other, 9));
  feed();  // cancels it; five of nine were replayed
  BOOST_CHECK(refused(other, 5));
  BOOST_CHECK(!refused(other, 6));
}

BOOST_AUTO_TEST_CASE(a_replay_of_nothing_costs_one) {
  const auto id = newest("fallida");
  for (unsigned i = 0; i < 3; ++i) {
    const auto asked = ask_replay(session, author, webhook.id, id, 5);
    BOOST_CHECK(cancel_replay(session, author, webhook.id, asked.replay.id));
  }
  const ReplayRange none{platform::utc_now() + 1h};
  for (unsigned i = 0; i < 2; ++i) {
    BOOST_CHECK(!refused(none, 5));
    BOOST_CHECK_EQUAL(feed().finished, 1U);
  }
  BOOST_CHECK(refused(id, 5));
  const auto kept = "SELECT (SELECT COUNT(*) FROM reenvios) + (SELECT SUM(veces) FROM auditoria)";
  const auto before = number(kept);
  const auto full = refused(none, 5);
  BOOST_TEST_REQUIRE(full.has_value());
  BOOST_CHECK(full->left == 0 && full->retry_after_s > day_s - 100);
  BOOST_CHECK_EQUAL(number(kept), before);
}

BOOST_AUTO_TEST_CASE(a_range_beyond_a_days_is_refused_and_is_so_in_a_second_too) {
  add_deliveries(6, "fallida", 0);
  const auto beyond = refused(failed, 5);
  BOOST_TEST_REQUIRE(beyond.has_value());
  BOOST_CHECK(beyond->left == 5 && beyond->retry_after_s == day_s);
  BOOST_CHECK(!refused(failed, 6));
}

BOOST_AUTO_TEST_CASE(a_range_that_is_not_counted_to_the_end_is_replayed_as_far_as_the_limit_goes) {
  add_deliveries(2100, "fallida", 0);
  const auto beyond = refused(failed, 900);
  BOOST_TEST_REQUIRE(beyond.has_value());
  BOOST_CHECK_EQUAL(beyond->retry_after_s, day_s);
  const auto asked = ask_replay(session, author, webhook.id, failed, 2010);
  BOOST_CHECK_EQUAL(progress(asked).candidates, 1000U);
  session.update("UPDATE reenvios SET reenviadas = 2002");
  while (feed().webhooks > 0)
    for (const auto& leased : claim_some(10)) succeed(leased);
  const auto over = progress(asked);
  BOOST_CHECK(over.replay.state == "terminado" && over.replayed == 2010U);
  BOOST_CHECK_EQUAL(over.candidates, 2011U);  // more than were replayed: the limit has cut the range off
}

BOOST_AUTO_TEST_CASE(uncounted_candidates_are_counted_during_the_walk) {
  add_deliveries(1005, "fallida", 0);
  add_deliveries(1000, "entregada", 0);
  const auto asked = ask(all);
  BOOST_CHECK_EQUAL(progress(asked).candidates, 2000U);
  session.update("UPDATE reenvios SET reenviadas = 1998, avance = (SELECT MAX(id) - 7 FROM entregas)");
  finish_all();
  const auto over = progress(asked);
  BOOST_CHECK(over.replay.state == "terminado" && over.candidates == 2005U && over.replayed == 2005U);
}

BOOST_AUTO_TEST_CASE(a_refused_replay_request_reads_no_deliveries) {
  add_deliveries(3000, "fallida", 0);
  const auto cost = [&](const auto& asks) {
    const auto before = rows_read(session);
    asks();
    return rows_read(session) - before;
  };
  const auto ask_with = [&](unsigned per_day, unsigned per_hour) {
    return ask_replay(session, author, webhook.id, failed, per_day, per_hour);
  };
  BOOST_CHECK_LE(cost([&] { count_candidates(session, webhook.id, failed); }), 2000 * 6);
  BOOST_CHECK(ask_with(5000, 1).result == done);
  BOOST_CHECK_LE(cost([&] { BOOST_CHECK(ask_with(5000, 1).result == running); }), 40);
  session.update("UPDATE reenvios SET estado = 'cancelado', terminado_en = UTC_TIMESTAMP(3)");
  const auto refuse = [&](unsigned per_day, unsigned per_hour, Quota quota) {
    BOOST_CHECK_EXCEPTION(ask_with(per_day, per_hour), OverQuota, is_of(quota));
  };
  BOOST_CHECK_LE(cost([&] { refuse(5000, 1, Quota::replay_requests); }), 60);
  BOOST_CHECK_LE(cost([&] { refuse(1, 60, Quota::replayed); }), 60);
  session.update("UPDATE webhooks SET activo = FALSE, motivo = 'entidad'");
  BOOST_CHECK_LE(cost([&] { BOOST_CHECK(ask_with(5000, 1).result == inactive); }), 40);
}

BOOST_AUTO_TEST_CASE(an_entity_has_an_hourly_quota_of_replay_requests) {
  const auto simulate = [&](unsigned limit) {
    return simulate_replay(session, author.entity, webhook.id, failed, limit);
  };
  for (unsigned i = 0; i < 2; ++i) BOOST_CHECK_EQUAL(simulate(3).count, 0U);
  BOOST_CHECK(ask_replay(session, author, webhook.id, failed, 0, 3).result == done);
  BOOST_CHECK(ask_replay(session, author, webhook.id, failed, 0, 3).result == running);
  try {
    simulate(3);
    BOOST_ERROR("the simulation is not refused");
  } catch (const OverQuota& refused) {
    BOOST_CHECK(refused.retry_after_s > 1100 && refused.retry_after_s <= 1200);
  }
  BOOST_CHECK_EQUAL(simulate_replay(session, 2, webhook.id, failed, 3).count, 0U);
  BOOST_CHECK_EQUAL(simulate(0).count, 0U);
  session.update(
      "UPDATE altas_webhook SET reenvios_saldados_hasta = reenvios_saldados_hasta - INTERVAL 20 MINUTE");
  simulate(3);
  BOOST_CHECK_EXCEPTION(simulate(3), OverQuota, is_of(Quota::replay_requests));
  // As if the clock had gone back.
  session.update(
      "UPDATE altas_webhook SET reenvios_saldados_hasta = reenvios_saldados_hasta + INTERVAL 5 HOUR");
  try {
    simulate(3);
    BOOST_ERROR("the simulation is not refused");
  } catch (const OverQuota& refused) {
    BOOST_CHECK_LE(refused.retry_after_s, 1200U);
  }
}

// A cluster finds a conflict of transactions on two nodes only if both transactions change the same row.
BOOST_AUTO_TEST_CASE(each_turn_changes_the_row_of_the_entity) {
  session.update(
      "INSERT INTO altas_webhook (entidad_id, saldadas_hasta) VALUES (1, UTC_TIMESTAMP(6) + INTERVAL 50 "
      "MINUTE)"
      " ON DUPLICATE KEY UPDATE saldadas_hasta = VALUES(saldadas_hasta)");
  const auto turns = "SELECT turnos FROM altas_webhook WHERE entidad_id = 1";
  const auto before = number(turns);
  BOOST_CHECK(!refused(newest("fallida"), 9));
  BOOST_CHECK_EQUAL(number(turns), before + 1);
}

BOOST_AUTO_TEST_SUITE_END()
