// The times of notifications that are whole hours before their commit (docs/drivers.md#times).
#include <boost/test/unit_test.hpp>

#include "lib/store/notifications/report.hpp"
#include "lib/store/notifications/shifted_times.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

struct Fixture : DeliveryFixture {
  /// A notification that was taken up so many minutes ago, and occurred `seconds` before.
  NotificationId add(std::string_view event, int minutes_ago, int seconds,
                     std::string_view origin = "evaluacion") {
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, origen, terminada_en, "
        "ocurrida_en)"
        " SELECT 1, ?, '{}', 'procesada', ?, t, t - INTERVAL ? SECOND FROM"
        " (SELECT UTC_TIMESTAMP(3) - INTERVAL ? MINUTE AS t) horas",
        event, origin, seconds, minutes_ago);
    return session.last_insert_id();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(shifted_times_of_the_store, Fixture)

BOOST_AUTO_TEST_CASE(an_event_counts_with_rows_of_three_minutes) {
  for (int i = 0; i < 5; ++i) add("evaluacion.abierta", 7, 3600);  // one transaction
  for (int i = 0; i < 5; ++i) add("evaluacion.cerrada", i, 1);
  for (int i = 0; i < 5; ++i) add("incidencia.cerrada", i, 3600, "prueba");
  for (int i = 0; i < 5; ++i) add("documento.disponible", i, 3600 * (i + 1) + 90);
  insert_notification(session, 1, "evaluacion.abierta");
  BOOST_TEST(find_shifted_times(session).empty());
  add("evaluacion.abierta", 3, 3600);
  BOOST_TEST(find_shifted_times(session).empty());
  const auto last = add("evaluacion.abierta", 1, 3602);
  const auto found = find_shifted_times(session);
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].event == "evaluacion.abierta");
  BOOST_TEST(found[0].hours == 1);
  BOOST_TEST(found[0].notifications == 7);
  BOOST_TEST(found[0].last == last);
}

BOOST_AUTO_TEST_CASE(a_report_says_of_each_notification_by_how_many_hours_it_is_off) {
  add("evaluacion.abierta", 2, 7200);
  add("evaluacion.abierta", 2, 5);
  ReportPage page{"evaluacion.abierta", platform::utc_now() - std::chrono::hours(24)};
  const auto read = read_report(session, page);
  BOOST_TEST_REQUIRE(read.size() == 2U);
  BOOST_TEST(read[0].hours_off.value_or(0) == 2);
  BOOST_TEST(!read[1].hours_off.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
