// Statistics of the recent deliveries of a webhook.
#include "lib/store/deliveries/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;

namespace {

struct Fixture : DeliveryFixture {
  DeliveryStatistics day() { return read_statistics(session, webhook.id, 24h); }
  DeliveryStatistics week() { return read_statistics(session, webhook.id, 24h * 7); }
  /// Adds one attempt to each delivery that has none.
  void add_attempts(int status, int duration) {
    session.update(
        "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http)"
        " SELECT e.id, 1, e.creada_en, ? + e.id MOD 100, ? FROM entregas e WHERE e.intentos = 0",
        duration, status);
    session.update("UPDATE entregas SET intentos = 1 WHERE intentos = 0");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(statistics, Fixture)

BOOST_AUTO_TEST_CASE(a_webhook_without_deliveries_has_zero_counts) {
  const auto found = day();
  BOOST_CHECK(found.delivered + found.failed + found.pending + found.held + found.failed_attempts == 0);
  BOOST_CHECK(!found.median_ms && !found.percentile95_ms && found.exact);
}

BOOST_AUTO_TEST_CASE(each_state_is_counted_within_the_window_and_tests_are_not) {
  add_deliveries(7, "entregada", 3);
  add_deliveries(4, "entregada", 0);
  add_deliveries(3, "fallida", 0);
  add_deliveries(2, "pendiente", 0);
  add_deliveries(1, "retenida", 0);
  add_deliveries(5, "cancelada", 0);
  queue_test_event(session, 1, webhook::Event::evaluacion_abierta, "{}");
  const auto found = day();
  BOOST_CHECK_EQUAL(found.delivered, 4U);
  BOOST_CHECK_EQUAL(found.failed, 3U);
  BOOST_CHECK_EQUAL(found.pending, 2U);
  BOOST_CHECK_EQUAL(found.held, 1U);
  BOOST_CHECK_EQUAL(week().delivered, 11U);
  BOOST_CHECK(found.exact && week().exact);
  BOOST_CHECK_EQUAL(read_statistics(session, add_webhook(session, 2).id, 24h).delivered, 0U);
}

BOOST_AUTO_TEST_CASE(a_delivered_delivery_counts_as_delivered_during_its_replay) {
  add_deliveries(1, "entregada", 0);
  session.update(
      "UPDATE entregas SET estado = 'pendiente', entregada_en = terminada_en, terminada_en = NULL");
  BOOST_CHECK(day().delivered == 1 && day().pending == 0);
}

BOOST_AUTO_TEST_CASE(durations_are_of_what_was_received_and_the_other_attempts_failed) {
  add_deliveries(100, "entregada", 0);
  add_attempts(200, 1000);  // 1000 to 1099 ms
  add_deliveries(30, "fallida", 0);
  add_attempts(500, 9000);
  const auto found = day();
  BOOST_CHECK_EQUAL(found.median_ms.value(), 1049);
  BOOST_CHECK_EQUAL(found.percentile95_ms.value(), 1094);
  BOOST_CHECK_EQUAL(found.failed_attempts, 30U);
}

BOOST_AUTO_TEST_CASE(the_attempts_read_for_the_statistics_are_bounded) {
  add_deliveries(1, "entregada", 0);
  session.update(
      "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http) SELECT e.id, seq, "
      "e.creada_en, 5, 200"
      " FROM entregas e JOIN " +
      numbers(21000));
  session.update("UPDATE entregas SET intentos = 21000");
  const auto before = rows_read(session);
  const auto found = day();
  BOOST_CHECK(!found.exact && found.median_ms == 5);
  BOOST_CHECK_LE(rows_read(session) - before, 2 * 2 * 2000);
}

BOOST_AUTO_TEST_CASE(of_very_many_the_newest_are_counted_and_it_says_so) {
  add_deliveries(3000, "entregada", 0);
  add_deliveries(10, "fallida", 0);
  const auto before = rows_read(session);
  const auto found = day();
  BOOST_CHECK(!found.exact && found.delivered == 1990 && found.failed == 10);
  BOOST_CHECK_LE(rows_read(session) - before, 2000 * 9);
  session.update("UPDATE entregas SET creada_en = creada_en - INTERVAL 3 DAY ORDER BY id LIMIT 2500");
  BOOST_CHECK(day().exact && day().delivered == 500 && !week().exact);
}

BOOST_AUTO_TEST_SUITE_END()
