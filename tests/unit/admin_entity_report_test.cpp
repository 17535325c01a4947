// An event's notifications, summed by entity: which entities were reached, and why others were not.
#include <boost/test/unit_test.hpp>

#include "admin/output/entity_report.hpp"

using admin::EntityReports;
using store::ReportedNotification;

BOOST_AUTO_TEST_SUITE(entity_report)

BOOST_AUTO_TEST_CASE(deliveries_count_and_what_has_none_counts_itself) {
  EntityReports reports;
  admin::add_up(reports, {.entity = 7,
                          .name = "Siete",
                          .state = "procesada",
                          .webhooks = 2,
                          .delivered = 1,
                          .failed = 1,
                          .reason = "El receptor respondió 500"});
  admin::add_up(reports, {.entity = 7, .name = "Siete", .state = "procesada", .webhooks = 1, .delivered = 1});
  admin::add_up(reports, {.entity = 7, .name = "Siete", .state = "pendiente"});
  admin::add_up(reports, {.entity = 7, .name = "Siete", .state = "cancelada"});
  admin::add_up(reports, {.entity = 7, .name = "Siete", .state = "cancelada", .webhooks = 1, .cancelled = 1});
  const auto& seven = reports.at(7);
  BOOST_TEST(seven.webhooks == 2);
  BOOST_TEST(seven.notifications == 5);
  BOOST_TEST(seven.reached == 2);
  BOOST_TEST((seven.delivered == 2 && seven.pending == 1 && seven.failed == 1 && seven.held == 0));
  BOOST_TEST((seven.cancelled == 2 && seven.rejected == 0));
  BOOST_TEST(seven.reason == "La notificación ha sido anulada");
}

BOOST_AUTO_TEST_CASE(every_entity_says_why) {
  EntityReports reports;
  admin::add_up(reports, {.entity = 1, .name = "Uno", .state = "procesada"});
  admin::add_up(reports, {.entity = 2, .state = "rechazada", .reason = "entidad_id: la entidad 2 no existe"});
  admin::add_up(reports, {.entity = 3, .name = "Tres", .state = "procesada", .webhooks = 1, .held = 1});
  admin::add_up(reports, {.entity = 4, .name = "Cuatro", .state = "pendiente"});
  admin::add_up(reports, {.entity = 5, .name = "Cinco", .state = "procesada", .webhooks = 1, .delivered = 1});
  BOOST_TEST(reports.at(1).reason == "La entidad no tenía ningún webhook suscrito");
  BOOST_TEST(reports.at(2).reason == "entidad_id: la entidad 2 no existe");
  BOOST_TEST((!reports.at(2).name && reports.at(2).rejected == 1));
  BOOST_TEST(reports.at(3).reason == "El webhook está desactivado: la entrega queda retenida");
  BOOST_TEST((reports.at(4).reason.empty() && reports.at(4).pending == 1));
  BOOST_TEST(reports.at(5).reason.empty());
  BOOST_TEST(admin::summary_of(reports) ==
             "5 entities, 5 notifications: 1 entities received all of theirs, 0 some, 4 none");
}

BOOST_AUTO_TEST_CASE(the_columns_are_those_of_the_contract) {
  std::string names;
  for (const auto& [name, value] : admin::to_row(7, {})) names += (names.empty() ? "" : " ") + name;
  BOOST_TEST(names ==
             "entidad_id nombre webhooks notificaciones entregadas pendientes fallidas retenidas rechazadas "
             "canceladas ultimo_error caducadas");
}

BOOST_AUTO_TEST_SUITE_END()
