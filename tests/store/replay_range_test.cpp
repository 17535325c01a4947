// Which deliveries a replay of a range includes, and what it costs to find them.
#include <boost/test/unit_test.hpp>

#include "lib/store/replays/range_walk.hpp"
#include "tests/store/replay_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using enum ReplayAsked;

namespace {

UtcTime time(std::string_view text) { return platform::parse_iso8601(text).value(); }

struct Fixture : ReplayFixture {
  std::int64_t cost_of_feed() {
    const auto before = rows_read(session);
    fed();
    return rows_read(session) - before;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(replay_range, Fixture)

BOOST_AUTO_TEST_CASE(times_at_the_ends_of_the_calendar_are_as_good_as_any) {
  for (const std::string_view until :
       {"9999-12-31T23:59:59.999Z", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0000-02-29T00:00:00Z"}) {
    for (const std::string_view since : {"0000-01-01T00:00:00Z", "0000-02-29T00:00:00Z",
                                         "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"}) {
      add_deliveries(2, "fallida", 0);
      const ReplayRange range{time(since), time(until)};
      const bool any = since.front() == '0' && until.front() == '9';
      const auto candidates = count_candidates(session, webhook.id, range);
      BOOST_CHECK(candidates.exact && (candidates.count > 0) == any);
      const auto asked = ask_replay(session, author, webhook.id, range, 10000);
      BOOST_TEST_REQUIRE((asked.result == done));
      BOOST_CHECK_EQUAL(fed() > 0, any);
      read_log_page(session, {webhook.id}, {.since = time(since), .until = time(until)}, 5, {});
      for (const auto& leased : claim_some(10)) succeed(leased);
      while (feed().webhooks > 0)
        for (const auto& leased : claim_some(10)) succeed(leased);
      BOOST_CHECK_EQUAL(progress(asked).replay.state, "terminado");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_range_ends_at_the_present) {
  ask(ReplayRange{UtcTime{}, time("9999-12-31T23:59:59.999Z")});
  const auto rows =
      session.query("SELECT hasta < UTC_TIMESTAMP(3) + INTERVAL 1 SECOND AS ahora FROM reenvios");
  BOOST_CHECK(rows.at(0).boolean("ahora"));
}

// A newer release may ask for a replay of an event that this release does not know. The dispatcher must
// replay the deliveries of that event, too, before it ends the replay.
BOOST_AUTO_TEST_CASE(a_range_of_an_event_that_only_a_newer_version_knows_is_carried_out) {
  add_deliveries(2, "fallida", 0);
  session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT evento_no_es_uno_de_los_11");
  session.execute("UPDATE notificaciones_pendientes SET evento = 'evento.nuevo'");
  const auto asked = ask(failed);
  session.execute("UPDATE reenvios SET eventos = 'evaluacion.abierta,evento.nuevo'");
  BOOST_CHECK_EQUAL(fed(), 2U);
  BOOST_CHECK_EQUAL(progress(asked).replayed, 2U);
}

// An earlier release wrote rows of `reenvios` with times in the years 1 and 9999.
BOOST_AUTO_TEST_CASE(a_range_to_the_end_of_time_is_carried_out) {
  add_deliveries(3, "fallida", 0);
  ask(failed);
  session.update("UPDATE reenvios SET hasta = '9999-12-31 23:59:59.999', desde = '0001-01-01'");
  const auto walk = feed();
  BOOST_CHECK(walk.replayed == 3 && walk.unreadable.empty());
}

BOOST_AUTO_TEST_CASE(the_beginning_is_found_by_halves) {
  add_deliveries(3000, "entregada", 9);
  add_deliveries(3000, "entregada", 4);
  const auto first = session.query("SELECT MIN(id) AS id FROM entregas").at(0).integer("id");
  const auto before = rows_read(session);
  const auto start = find_start(session, webhook.id, platform::utc_now() - 120h);
  BOOST_CHECK_LT(rows_read(session) - before, 60);
  BOOST_CHECK(start > first + 1500 && start < first + 3000);
  BOOST_CHECK_LT(find_start(session, webhook.id, UtcTime{}), first);
  BOOST_CHECK_LT(find_start(session, webhook.id.next(), UtcTime{}), 1);
}

BOOST_AUTO_TEST_CASE(a_turn_reads_little_more_than_what_it_hands_over) {
  add_deliveries(8000, "entregada", 9);
  add_deliveries(8000, "fallida", 1);
  failed.since = platform::utc_now() - 48h;
  ask(failed);
  BOOST_CHECK_LT(cost_of_feed(), 12000);  // reading the rows before the range would cost more
  for (unsigned turn = 0; turn < 5; ++turn) {
    for (const auto& leased : claim_some(10)) succeed(leased);
    BOOST_CHECK_LT(cost_of_feed(), 300);
  }
}

BOOST_AUTO_TEST_CASE(a_count_that_is_not_whole_says_so_and_a_walk_is_one_in_parts) {
  add_deliveries(21000, "entregada", 0);
  add_deliveries(2, "fallida", 0);
  BOOST_CHECK(count_candidates(session, webhook.id, failed).exact);
  const auto counted = count_candidates(session, webhook.id, all);
  BOOST_CHECK(!counted.exact && counted.count == 2000U);
  const auto asked = ask(failed);
  unsigned turns = 0;
  std::uint64_t replayed = 0;
  while (replayed < 2 && ++turns < 20) replayed += fed();
  BOOST_CHECK(turns > 5 && turns < 15);
  BOOST_CHECK_EQUAL(progress(asked).replay.state, "terminado");
}

BOOST_AUTO_TEST_CASE(a_narrow_range_is_counted_to_the_end_however_much_there_is) {
  add_deliveries(300, "entregada", 20);
  add_deliveries(21000, "entregada", 2);
  all.since = platform::utc_now() - 21 * 24h;
  all.until = platform::utc_now() - 19 * 24h;
  const auto counted = count_candidates(session, webhook.id, all);
  BOOST_CHECK(counted.exact && counted.count == 300U);
}

BOOST_AUTO_TEST_CASE(a_single_replay_reads_no_more_with_many_deliveries) {
  const auto cost = [&] {
    ask(newest("fallida"));
    return cost_of_feed();
  };
  cost();
  const auto few = cost();
  add_deliveries(3000, "entregada", 0);
  add_deliveries(3000, "fallida", 0);
  BOOST_CHECK_LE(cost(), few + 20);
}

BOOST_AUTO_TEST_SUITE_END()
