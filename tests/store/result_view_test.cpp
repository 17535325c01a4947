// The view notificaciones_resultado, in which the evaluation system reads what became of its notifications
// (docs/table.md#what-became-of-it), and the operator's report, which reads the same view.
#include <boost/test/unit_test.hpp>

#include "lib/store/notifications/report.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

struct ViewFixture : DeliveryFixture {
  Row result_of(NotificationId id) {
    const auto rows = session.query(
        "SELECT notificacion_id, entidad_id, evento, clave, estado, webhooks, entregadas, pendientes, "
        "fallidas,"
        " retenidas, canceladas, CAST(primera_entrega AS CHAR) AS primera_entrega,"
        " CAST(ultima_entrega AS CHAR) AS ultima_entrega, ultimo_error FROM notificaciones_resultado"
        " WHERE notificacion_id = ?",
        id);
    BOOST_REQUIRE_EQUAL(rows.size(), 1U);
    return rows.front();
  }
  NotificationId add(std::string_view state, std::string_view error = {}) {
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave, estado, error, "
        "terminada_en)"
        " VALUES (1, 'evaluacion.abierta', '{}', CONCAT('k', UUID()), ?, NULLIF(?, ''),"
        " IF(? = 'pendiente', NULL, UTC_TIMESTAMP(3)))",
        state, error, state);
    return session.last_insert_id();
  }
  void deliver(NotificationId id, std::string_view state, std::string_view ended,
               std::string_view error = {}) {
    session.update(
        "INSERT INTO webhooks (entidad_id, plaza, fecha_baja, url, eventos) VALUES (1, NULL,"
        " UTC_TIMESTAMP(3), 'https://x.example.org/', 'evaluacion.abierta')");
    session.update(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, terminada_en,"
        " ultimo_error, arriendo, arriendo_hasta) VALUES (?, ?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), "
        "NULLIF(?, ''), ?,"
        " IF(? = 'en_curso', 1, NULL), IF(? = 'en_curso', UTC_TIMESTAMP(3), NULL))",
        id, session.last_insert_id(), state, ended, error, state, state);
  }
  std::vector<std::int64_t> counts(const Row& row) {
    std::vector<std::int64_t> result;
    for (const auto* column : {"webhooks", "entregadas", "pendientes", "fallidas", "retenidas", "canceladas"})
      result.push_back(row.integer(column));
    return result;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(result_view, ViewFixture)

BOOST_AUTO_TEST_CASE(each_delivery_counts_once_as_what_it_is) {
  const auto id = add("procesada");
  deliver(id, "entregada", "2026-01-01 10:00:00.000");
  deliver(id, "entregada", "2026-01-01 12:00:00.000");
  deliver(id, "pendiente", "", "no se pudo");
  deliver(id, "en_curso", "");
  deliver(id, "fallida", "2026-01-03 00:00:00.000", "El receptor respondió 500");
  deliver(id, "retenida", "");
  deliver(id, "cancelada", "2026-01-03 00:00:00.000");
  const auto row = result_of(id);
  BOOST_CHECK((counts(row) == std::vector<std::int64_t>{7, 2, 2, 1, 1, 1}));
  BOOST_CHECK_EQUAL(row.text("primera_entrega"), "2026-01-01 10:00:00.000");
  BOOST_CHECK_EQUAL(row.text("ultima_entrega"), "2026-01-01 12:00:00.000");
  BOOST_CHECK(row.text("estado") == "procesada" && row.integer("entidad_id") == 1 && !row.null("clave"));
}

// Among the deliveries with an error, the one with the latest attempt decides, whichever webhook it is for.
BOOST_AUTO_TEST_CASE(the_reason_is_that_of_the_last_attempt) {
  const auto id = add("procesada");
  deliver(id, "pendiente", "", "de la primera");
  deliver(id, "fallida", "2026-01-03 00:00:00.000", "de la segunda");
  deliver(id, "entregada", "2026-01-04 00:00:00.000");
  const auto attempt = [&](std::string_view error, int number, std::string_view when) {
    session.update(
        "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms) SELECT id, ?, ?, 5 FROM "
        "entregas"
        " WHERE notificacion_id = ? AND ultimo_error = ?",
        number, when, id, error);
  };
  attempt("", 1, "2026-01-04 00:00:00.000");
  attempt("de la primera", 1, "2026-01-01 00:00:00.000");
  attempt("de la primera", 2, "2026-01-03 12:00:00.000");
  attempt("de la segunda", 1, "2026-01-03 00:00:00.000");
  BOOST_CHECK_EQUAL(result_of(id).text("ultimo_error"), "de la primera");
  attempt("de la segunda", 2, "2026-01-03 12:00:00.001");
  BOOST_CHECK_EQUAL(result_of(id).text("ultimo_error"), "de la segunda");
}

BOOST_AUTO_TEST_CASE(a_delivered_delivery_counts_as_delivered_during_its_replay) {
  const auto id = add("procesada");
  deliver(id, "entregada", "2026-01-01 10:00:00.000");
  session.update(
      "UPDATE entregas SET entregada_en = terminada_en, terminada_en = NULL, estado = 'pendiente',"
      " ultimo_error = 'otra vez no' WHERE notificacion_id = ?",
      id);
  const auto row = result_of(id);
  BOOST_CHECK((counts(row) == std::vector<std::int64_t>{1, 1, 0, 0, 0, 0}));
  BOOST_CHECK(row.text("primera_entrega") == "2026-01-01 10:00:00.000" && row.null("ultimo_error"));
}

BOOST_AUTO_TEST_CASE(rows_without_a_delivery_say_why) {
  const auto rejected = result_of(add("rechazada", "entidad_id: la entidad 9 no existe"));
  BOOST_CHECK_EQUAL(rejected.text("ultimo_error"), "entidad_id: la entidad 9 no existe");
  BOOST_CHECK_EQUAL(rejected.text("estado"), "rechazada");
  const auto waiting = result_of(add("pendiente"));
  BOOST_CHECK(waiting.text("estado") == "pendiente" && waiting.null("ultimo_error") &&
              waiting.null("primera_entrega"));
}

BOOST_AUTO_TEST_CASE(test_events_are_not_in_the_result_view) {
  session.update(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, origen, terminada_en)"
      " VALUES (1, 'evaluacion.abierta', '{}', 'procesada', 'prueba', UTC_TIMESTAMP(3))");
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_resultado WHERE entidad_id = 1").empty());
}

// One statement inserts a broadcast, so all its notifications have the same `ocurrida_en`. Still, the last
// full page of a report on them must read fewer than 1,500 rows more than the first page did.
BOOST_AUTO_TEST_CASE(a_report_of_a_broadcast_passes_over_each_row_once) {
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
      " SELECT seq, 'documento.disponible', '{}', '2026-01-01 10:00:00.000' FROM " +
      numbers(12000));
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
      " SELECT seq, 'documento.disponible', '{}', '2026-01-01 10:00:01.000' FROM " +
      numbers(2));
  session.query("ANALYZE TABLE notificaciones_pendientes, entregas");
  ReportPage page{"documento.disponible", platform::parse_iso8601("2026-01-01T10:00:00.000Z").value()};
  std::vector<NotificationId> ids;
  std::vector<std::int64_t> costs;
  for (;;) {
    const auto before = rows_read(session);
    const auto read = read_report(session, page);
    if (read.empty()) break;
    if (read.size() == 1000U) costs.push_back(rows_read(session) - before);
    for (const auto& one : read) ids.push_back(one.id);
  }
  BOOST_TEST(ids.size() == 12002U);
  BOOST_TEST(std::ranges::is_sorted(ids));
  BOOST_TEST_REQUIRE(costs.size() == 12U);
  BOOST_TEST(costs.back() < costs.front() + 1500);
  page = {"documento.disponible", platform::parse_iso8601("2026-01-01T10:00:00.000Z").value(),
          platform::parse_iso8601("2026-01-01T10:00:01.000Z")};
  std::size_t until = 0;
  for (auto read = read_report(session, page); !read.empty(); read = read_report(session, page))
    until += read.size();
  BOOST_TEST(until == 12000U);
}

// In a session with ALLOW_INVALID_DATES, the CHECK of `ocurrida_en` accepts a date like 31 February on
// MariaDB. The dispatcher rejects a notification with such a date.
BOOST_AUTO_TEST_CASE(a_report_leaves_out_a_date_that_does_not_exist) {
  if (!session.is_mariadb()) return;
  session.execute("SET sql_mode = 'ALLOW_INVALID_DATES'");
  for (const auto* day : {"2026-02-28", "2026-02-31", "2026-03-01"})
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
        " VALUES (1, 'documento.disponible', '{}', ?)",
        std::string(day));
  session = database.connect();
  ReportPage page{"documento.disponible", platform::parse_iso8601("2026-01-01T00:00:00.000Z").value()};
  BOOST_CHECK_EQUAL(read_report(session, page).size(), 2U);
}

BOOST_AUTO_TEST_SUITE_END()
