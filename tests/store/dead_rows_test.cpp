// Finished rows cost nothing: deleted webhooks, revoked tokens, finished notifications and deliveries.
// Counts the rows that each operation reads while there are 2 finished rows of each kind, and while there are
// 100,002. Compares the two counts.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>

#include "lib/crypto/crypto.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

constexpr Lease lease{101, Milliseconds(60000)};
constexpr auto event = webhook::Event::evaluacion_cerrada;

NewWebhook registration(EntityId entity) {
  webhook::EventSet events;
  events.insert(event);
  return {entity, "https://receptor.example.org/", events, "s"};
}

struct Fixture : MaintenanceFixture {
  Webhook live = add_webhook(session, 1);   // its entity has the finished rows
  Webhook other = add_webhook(session, 2);  // its entity has none

  Fixture() {
    issue_token(session, {1, crypto::sha256("token")});
    issue_token(session, {2, crypto::sha256("other")});
    for (int i = 0; i < 5; ++i) add_webhook(session, 3);
  }

  /// Adds `rows` finished rows of each kind, all of entity 1.
  void add_dead(int rows) {
    const auto seq = numbers(rows);
    session.update(
        "INSERT INTO webhooks (entidad_id, plaza, fecha_baja, url, eventos) SELECT 1, NULL, UTC_TIMESTAMP(3),"
        " 'https://receptor.example.org/', 'evaluacion.cerrada' FROM " +
        seq);
    session.update(
        "INSERT INTO tokens_acceso (entidad_id, hash, revocado)"
        " SELECT 1, UNHEX(SHA2(CONCAT(?, '-', seq), 256)), UTC_TIMESTAMP(3) FROM " +
            seq,
        rows);
    add_finished(live.id, static_cast<unsigned>(rows), hour);
    session.query("ANALYZE TABLE webhooks, tokens_acceso, notificaciones_pendientes, entregas");
  }

  /// Delivers the one due delivery of the live webhook.
  void deliver_one() {
    const auto leased = claim(session, {{live.id, 5}}, lease).leased.deliveries;
    BOOST_TEST_REQUIRE(leased.size() == 1U);
    const auto summary = record_results(session, {delivered(leased[0])}, {day});
    BOOST_TEST(summary.stale.empty());
    BOOST_TEST(summary.locked.empty());
  }
};

void authenticate(Fixture& f) {
  const auto callers = find_callers(f.session, std::vector{crypto::sha256("token"), crypto::sha256("other")});
  BOOST_TEST(callers.at(0).value().webhooks.at(0).id == f.live.id);
  BOOST_TEST(callers.at(1).value().webhooks.at(0).id == f.other.id);
}

void register_and_delete(Fixture& f) {
  const auto made = create_webhook(f.session, registration(1), keys(), 1000);
  BOOST_TEST(delete_webhook(f.session, {1}, made.webhook.value().id));
}

void register_sixth(Fixture& f) {
  BOOST_TEST(!create_webhook(f.session, registration(3), keys(), 1000).webhook);
}

void send_test_event(Fixture& f) {
  BOOST_TEST(queue_test_event(f.session, 1, event, "{}", 50).size() == 1U);
  f.deliver_one();
}

void notify(Fixture& f) {
  const auto id = insert_notification(f.session, 1);
  BOOST_TEST(find_new_notifications(f.session, id.previous(), id, 10).pending.at(0).entity == 1);
  fan_out(f.session);
  BOOST_TEST(find_waiting_webhooks(f.session, {{f.live.id.number(), f.other.id.number()}}).size() == 1U);
  BOOST_TEST(load_receiving(f.session, {f.live.id, f.other.id}).size() == 2U);
  f.deliver_one();
}

void load_two(Fixture& f) {
  const auto recipients = load_recipients(f.session, {1, 2});
  BOOST_TEST(recipients.at(1).webhooks.size() == 1U);
  BOOST_TEST(recipients.at(2).webhooks.size() == 1U);
}

void give_back_and_recover(Fixture& f) {
  insert_notification(f.session, 1);
  fan_out(f.session);
  BOOST_TEST(release_leases(f.session, claim(f.session, {{f.live.id, 5}}, lease).leased.deliveries).empty());
  claim(f.session, {{f.live.id, 5}}, {102, Milliseconds(-1000)});
  BOOST_TEST(recover_expired_leases(f.session, 10).count == 1U);
  f.deliver_one();
}

void release_held(Fixture& f) {
  const auto id = insert_notification(f.session, 1);
  fan_out(f.session, DeliveryState::held);
  BOOST_TEST(reconcile(f.session).released == 1U);
  BOOST_TEST(cancel_notification(f.session, id).cancelled_deliveries == 1U);
}

void operate(Fixture& f) {
  ListFilter filter;
  filter.webhook = f.live.id;
  BOOST_TEST(list_webhooks(f.session, filter).size() == 1U);
  filter.entity = 1;
  BOOST_TEST(list_webhooks(f.session, filter).size() == 1U);
  BOOST_TEST(disable_webhook(f.session, f.live.id, disabled_by_operator));
  BOOST_TEST(enable_webhook(f.session, f.live.id, true).has_value());
  const auto token = issue_token(f.session, {1, crypto::sha256("new")});
  BOOST_TEST(revoke_token(f.session, token.value()));
  f.session.update("DELETE FROM tokens_acceso WHERE id = ?", token.value());
}

void list_failing(Fixture& f) {
  insert_notification(f.session, 1);
  fan_out(f.session);
  const auto leased = claim(f.session, {{f.live.id, 5}}, lease).leased.deliveries;
  record_results(f.session, {failed_attempt(leased.at(0), Milliseconds(0))}, {day});
  BOOST_TEST(list_failing_webhooks(f.session, {}, day).size() == 1U);
  BOOST_TEST(find_failure_streak(f.session, f.live.id, day).has_value());
  BOOST_TEST(count_near_deactivation(f.session, day)->half == 0);
  f.deliver_one();
}

struct Operation {
  const char* name;
  std::function<void(Fixture&)> run;  // leaves as many live rows as it found
  int slack = 20;                     // how many more rows it may read with 100,002 finished rows
};

/// A step of the reconciliation reads 500 webhooks, also deleted ones, and a few rows for each.
constexpr int reconciled_at_once = 500 * 8;
/// The purge reads 512 deliveries and 512 notifications. All are too young to be purged, so it reads no more.
constexpr int purged_at_once = 2 * 512;

const std::vector<Operation> operations{
    {"authentication", authenticate},
    {"registering and deleting", register_and_delete},
    {"registering a sixth", register_sixth},
    {"a test event", send_test_event},
    {"a notification", notify},
    {"recipients", load_two},
    {"leases", give_back_and_recover},
    {"a peek at the queue", [](Fixture& f) { peek_queue(f.session); }},
    {"the figures of the queue", [](Fixture& f) { queue_status(f.session, {}); }},
    {"the figures up to a limit", [](Fixture& f) { queue_status(f.session, 10); }},
    {"failing webhooks", list_failing},
    {"reconciliation", release_held, reconciled_at_once},
    {"the purge", [](Fixture& f) { sweep(f.session, retention); }, purged_at_once},
    {"the clock", [](Fixture& f) { see_and_accept_clock(f.session); }},
    {"the operator", operate},
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(dead_rows, Fixture)

BOOST_AUTO_TEST_CASE(no_operation_reads_finished_rows) {
  const auto cost = [&](const Operation& operation) {
    const auto before = rows_read(session);
    operation.run(*this);
    return rows_read(session) - before;
  };
  add_dead(2);
  std::map<std::string, std::int64_t> without;
  for (const auto& operation : operations) without[operation.name] = cost(operation);
  add_dead(100000);
  for (const auto& operation : operations) {
    const auto with = cost(operation);
    BOOST_TEST(with <= without[operation.name] + operation.slack,
               operation.name << ": " << with << " rows read with many finished rows, "
                              << without[operation.name] << " with few");
  }
}

BOOST_AUTO_TEST_SUITE_END()
