// While this service's long INSERT into `entregas` runs, other INSERTs need not wait for their AUTO_INCREMENT
// numbers.
#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"
#include "tests/store/threads.hpp"
#include "tests/wait.hpp"

using namespace store;
using namespace store::testing;

namespace {

constexpr auto event = ::webhook::Event::evaluacion_cerrada;

/// INSERTs for entity 2's webhook wait in a trigger for a lock that `holder` keeps.
struct Fixture : DeliveryFixture {
  Session holder = database.connect();
  Session inserting = database.connect();

  Fixture() {
    const auto slow = add_webhook(session, 2).id;
    holder.query("SELECT GET_LOCK('lenta', 0)");
    session.execute("CREATE TRIGGER espera AFTER INSERT ON entregas FOR EACH ROW BEGIN IF NEW.webhook_id = " +
                    to_string(slow) + " THEN DO GET_LOCK('lenta', 60); END IF; END");
  }
  /// Returns once the INSERT of `inserting` waits in the trigger.
  void wait_until_inserting() {
    const auto waiting = [&] {
      return session
          .query("SELECT COUNT(*) AS n FROM information_schema.processlist WHERE state = 'User lock'")
          .at(0)
          .integer("n");
    };
    wait::until([&] { return waiting() > 0; }, "the INSERT to wait in the trigger");
  }
  void check_others_insert() {
    wait_until_inserting();
    insert_notification(session, 1);
    BOOST_CHECK_EQUAL(fan_out(session, delivery::DeliveryState::leased).size(), 1U);
    BOOST_CHECK_EQUAL(queue_test_event(session, 1, event, "{}").size(), 1U);
    holder.query("SELECT RELEASE_LOCK('lenta')");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(numbering, Fixture)

BOOST_AUTO_TEST_CASE(while_an_entity_asks_for_a_test_event_others_are_fanned_out) {
  ThreadedWork slow([&] { queue_test_event(inserting, 2, event, "{}"); });
  check_others_insert();
}

BOOST_AUTO_TEST_CASE(two_dispatchers_fan_out_at_the_same_time) {
  insert_notification(session, 2);
  ThreadedWork slow([&] { fan_out(inserting); });
  check_others_insert();
}

BOOST_AUTO_TEST_CASE(deliveries_of_several_statements_are_numbered_in_order) {
  session.execute("DROP TRIGGER espera");
  for (int i = 0; i < 203; ++i) insert_notification(session, 1);
  const auto created = fan_out(session, delivery::DeliveryState::leased);
  BOOST_REQUIRE_EQUAL(created.size(), 203U);
  BOOST_CHECK(std::ranges::is_sorted(created, {}, &CreatedDelivery::notification));
}

/// An INSERT … SELECT, as an operator may write it, locks its table's AUTO_INCREMENT until it ends. Other
/// INSERTs that do not wait then fail with MariaDB's error 1467. Their rows are not the cause, so the store
/// throws Interrupted.
BOOST_AUTO_TEST_CASE(a_locked_numbering_interrupts_the_statement) {
  if (!session.is_mariadb()) return;
  ThreadedWork slow([&] {
    inserting.execute(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en)"
        " VALUES (2, 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3))");
    inserting.execute(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en)"
        " SELECT LAST_INSERT_ID(), id, 'pendiente', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM webhooks"
        " WHERE entidad_id = 2");
  });
  wait_until_inserting();
  insert_notification(session, 1);
  BOOST_CHECK_THROW(fan_out(session), Interrupted);
  holder.query("SELECT RELEASE_LOCK('lenta')");
}

BOOST_AUTO_TEST_SUITE_END()
