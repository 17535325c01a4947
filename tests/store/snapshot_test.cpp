// A backup's snapshot keeps index entries of deliveries that have ended since it was taken. Maintenance does
// not lock these entries: a locking read takes a microsecond or more for each entry, and the claims and the
// fan-out of all webhooks wait for maintenance, which runs on the same session.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "lib/store/maintenance/held.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

struct Fixture : MaintenanceFixture {
  WebhookId webhook = add_webhook(session, 1).id;
  Session backup = database.connect();

  Fixture() {
    session.execute("DROP TRIGGER entregas_transitions");
    backup.execute("SET SESSION /*M! idle_transaction_timeout = 0, */ time_zone = '+00:00'");
    backup.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  }

  /// Adds 100,001 deliveries, changes them by an UPDATE with the assignments `make`, and ends all but one. A
  /// snapshot keeps the index entries that the ended deliveries had before they ended.
  void end_all_but_one(const std::string& make) {
    add_finished(webhook, 100001, 60 * day);
    session.execute("UPDATE entregas SET terminada_en = NULL, " + make);
    backup.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    backup.query("SELECT COUNT(*) AS seen FROM control_envio");
    session.execute(
        "UPDATE entregas SET estado = 'entregada', arriendo = NULL, arriendo_hasta = NULL, "
        "terminada_en = UTC_TIMESTAMP(3) ORDER BY id LIMIT 100000");
  }

  /// How many pages the server reads while `work` runs: this program alone uses it.
  std::int64_t pages_read(const std::function<void()>& work) {
    const auto read = [this] {
      return session.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'")
          .at(0)
          .integer("Value");
    };
    const auto before = read();
    work();
    return read() - before;
  }

  /// Runs `work`, and checks that it reads less than half of what a locking read of `range` reads, which
  /// includes the entries that the snapshot keeps. Does not check this on MySQL, which finds such entries
  /// without reading pages anew.
  void check_cheaper(const std::function<void()>& work, const std::string& range) {
    const auto locking = pages_read([&] {
      BOOST_TEST(session.query("SELECT id FROM entregas " + range + " FOR UPDATE SKIP LOCKED").size() == 1U);
    });
    const auto read = pages_read(work);
    if (!session.is_mariadb()) return;
    BOOST_TEST(2 * read < locking, read << " pages, the locking read " << locking);
  }
};

const std::string what_waits = "FORCE INDEX (entregas_por_reclamar) WHERE webhook_id > 0 AND espera = ";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(snapshot, Fixture)

BOOST_AUTO_TEST_CASE(an_expired_lease_is_recovered_past_those_that_have_ended) {
  end_all_but_one("estado = 'en_curso', arriendo = 7, arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE");
  check_cheaper([&] { BOOST_TEST(recover_expired_leases(session, 500).count == 1U); },
                "FORCE INDEX (entregas_arriendos_vencidos) WHERE arriendo_hasta < UTC_TIMESTAMP(3)");
}

BOOST_AUTO_TEST_CASE(a_delivery_is_held_past_those_that_have_ended) {
  end_all_but_one("estado = 'pendiente'");
  disable_webhook(session, webhook, disabled_by_operator);
  check_cheaper([&] { BOOST_TEST(reconcile(session).held == 1U); }, what_waits + "'pendiente'");
}

BOOST_AUTO_TEST_CASE(a_held_delivery_is_given_up_past_those_that_have_ended) {
  end_all_but_one("estado = 'retenida'");
  disable_webhook(session, webhook, disabled_by_operator);
  HeldWalk walk;
  check_cheaper(
      [&] {
        while (!walk.done) give_up_held(session, Milliseconds(0), walk);
      },
      what_waits + "'retenida'");
  BOOST_TEST(walk.ended == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
