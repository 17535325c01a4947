// Outages: what is recorded of them, and how the records are used.
#include "lib/store/outages/outages.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using platform::Milliseconds;

namespace {

struct Fixture : DeliveryFixture {
  /// Records an outage that began `from` minutes ago and ended `to` minutes ago.
  void add(int from, int to, OutageKind kind = OutageKind::network) {
    const auto id = begin_outage(session, "here:1", kind, std::chrono::minutes(from));
    update_outage(session, id, 3, std::chrono::minutes(to));
  }
  std::int64_t minutes_since(int ago) {
    const auto since =
        session.query("SELECT CAST(UTC_TIMESTAMP(3) - INTERVAL ? MINUTE AS CHAR) AS t", ago).at(0).time("t");
    return std::chrono::round<std::chrono::minutes>(read_outages(session, since).since(since)).count();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(outages_of_the_service, Fixture)

BOOST_AUTO_TEST_CASE(outages_are_listed_until_they_end_or_their_dispatcher_is_gone) {
  const auto ended = begin_outage(session, "here:1", OutageKind::network, 20s);
  const auto lasting = begin_outage(session, "there:2", OutageKind::names, 30s);
  begin_outage(session, "gone:3", OutageKind::names, 1h);
  session.update(
      "UPDATE cortes_envio SET visto_en = visto_en - INTERVAL 2 MINUTE WHERE despachador = 'gone:3'");
  update_outage(session, ended, 1, 5s);
  update_outage(session, lasting, 42, {});
  const auto running = list_running_outages(session);
  BOOST_REQUIRE_EQUAL(running.size(), 1U);
  BOOST_CHECK_EQUAL(running[0].dispatcher, "there:2");
  BOOST_CHECK_EQUAL(running[0].kind, "dns");
  BOOST_CHECK_EQUAL(running[0].deliveries, 42);
}

BOOST_AUTO_TEST_CASE(time_that_outages_share_counts_once_and_only_from_then_on) {
  add(100, 80);
  add(90, 70, OutageKind::names);
  add(60, 50);
  add(58, 55);  // within the outage above
  BOOST_CHECK_EQUAL(minutes_since(200), 40);
  BOOST_CHECK_EQUAL(minutes_since(75), 15);
  BOOST_CHECK_EQUAL(minutes_since(52), 2);
  BOOST_CHECK_EQUAL(minutes_since(40), 0);
}

BOOST_AUTO_TEST_CASE(an_unended_outage_counts_until_its_last_confirmation) {
  begin_outage(session, "gone:3", OutageKind::network, 60min);
  session.update("UPDATE cortes_envio SET visto_en = visto_en - INTERVAL 30 MINUTE");
  BOOST_CHECK_EQUAL(minutes_since(120), 30);
}

BOOST_AUTO_TEST_CASE(outages_of_last_year_are_forgotten) {
  begin_outage(session, "here:1", OutageKind::network, 60min);
  session.update("UPDATE cortes_envio SET visto_en = visto_en - INTERVAL 367 DAY");
  begin_outage(session, "here:1", OutageKind::network, 1min);
  BOOST_CHECK_EQUAL(session.query("SELECT COUNT(*) AS n FROM cortes_envio").at(0).integer("n"), 1);
}

// While the database's clock is a year ahead, each outage looks a year old. Once the clock is right again,
// the outages must still postpone the deactivation of failing webhooks.
BOOST_AUTO_TEST_CASE(a_clock_jump_lets_no_outage_be_forgotten) {
  begin_outage(session, "here:1", OutageKind::network, 60min);
  const auto begin_a_year_ahead = [&](const char* clock) {
    session.execute(clock);
    session.execute("SET @@timestamp = UNIX_TIMESTAMP() + 367 * 86400");
    begin_outage(session, "here:1", OutageKind::network, 1min);
    session.execute("SET @@timestamp = DEFAULT");
    return session.query("SELECT COUNT(*) AS n FROM cortes_envio").at(0).integer("n");
  };
  BOOST_CHECK_EQUAL(
      begin_a_year_ahead("UPDATE reloj_visto SET salto_ms = 367 * 86400000, hora = hora + INTERVAL 367 DAY"),
      2);
  BOOST_CHECK_EQUAL(begin_a_year_ahead("UPDATE reloj_visto SET salto_ms = 0, hora = UTC_TIMESTAMP(3)"), 3);
}

// The webhook has failed for two hours, and one hour of failures deactivates it. At first the outage covers
// 90 of these 120 minutes, so 30 minutes of failures count. After the last UPDATE it covers 30, so 90 count.
BOOST_AUTO_TEST_CASE(outage_time_does_not_count_towards_deactivation) {
  const auto fail = [&] {
    session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
    return record_results(session, {failed_attempt(claim_one(), 0ms)}, {Milliseconds(1h)}).deactivated;
  };
  queue_one();
  for (int i = 0; i < 9; ++i) fail();
  session.update("UPDATE webhook_ejecuciones SET fallos_desde = fallos_desde - INTERVAL 2 HOUR");
  add(110, 20);
  BOOST_CHECK(fail().empty());
  session.update("UPDATE cortes_envio SET desde = desde + INTERVAL 60 MINUTE");
  BOOST_CHECK_EQUAL(fail().size(), 1U);
}

BOOST_AUTO_TEST_CASE(recently_answering_webhooks_are_found_with_their_address) {
  const auto silent = add_webhook(session, 2);
  const auto old = add_webhook(session, 3);
  queue_one();
  auto answered = delivered(claim_one());
  answered.address = "203.0.113.7";
  record_results(session, {answered}, {Milliseconds(0)});
  insert_notification(session, 2);
  insert_notification(session, 3);
  fan_out(session);
  auto results = claim(session, {{silent.id, 1}, {old.id, 1}}, long_lease).leased.deliveries;
  BOOST_REQUIRE_EQUAL(results.size(), 2U);
  for (const auto& leased : results) {
    auto result = leased.webhook == silent.id ? failed_attempt(leased, 1h) : delivered(leased);
    if (leased.webhook == silent.id) result.status.reset();  // no answer
    result.address = "203.0.113.8";
    record_results(session, {result}, {Milliseconds(0)});
  }
  session.update(
      "UPDATE webhook_ejecuciones SET ultima_ejecucion = ultima_ejecucion - INTERVAL 8 DAY"
      " WHERE webhook_id = ?",
      old.id);
  const auto known = find_answering(session, 168h, 10);
  BOOST_REQUIRE_EQUAL(known.size(), 1U);
  BOOST_CHECK_EQUAL(known[0].entity, 1);
  BOOST_CHECK_EQUAL(known[0].address, "203.0.113.7");
  BOOST_CHECK_EQUAL(known[0].url, webhook.url);
}

BOOST_AUTO_TEST_CASE(the_address_that_has_answered_is_found_before_a_backlog_that_was_never_tried) {
  queue_one();
  auto answered = delivered(claim_one());
  answered.address = "203.0.113.7";
  record_results(session, {answered}, {Milliseconds(0)});
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1, 'evaluacion.cerrada', "
      "'{}' FROM " +
      numbers(1000));
  fan_out(session);
  const auto before = rows_read(session);
  const auto known = find_answering(session, 168h, 10);
  BOOST_TEST(rows_read(session) - before < 500);
  BOOST_REQUIRE_EQUAL(known.size(), 1U);
  BOOST_CHECK_EQUAL(known[0].address, "203.0.113.7");
}

BOOST_AUTO_TEST_SUITE_END()
