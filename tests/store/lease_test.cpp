// A lease says who holds a delivery and for how long. A dispatcher that has lost the lease can write nothing
// for that delivery.
#include <boost/test/unit_test.hpp>

#include "dispatcher/maintenance/maintenance.hpp"
#include "dispatcher/results/result_buffer.hpp"
#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using platform::Milliseconds;

namespace {

constexpr Lease passed{1, Milliseconds(-1)};  // a lease of 0 ms would expire only a millisecond later
constexpr Lease present{2, Milliseconds(60000)};

struct Fixture {
  Database database;
  Session& session = database.session;
  Webhook webhook = add_webhook(session, 1);

  void queue(int count) {
    for (int i = 0; i < count; ++i) insert_notification(session, 1);
    fan_out(session);
  }
  std::vector<LeasedDelivery> claim_some(unsigned limit, const Lease& lease) {
    return claim(session, {{webhook.id, limit}}, lease).leased.deliveries;
  }
  /// Adds a trigger that refuses to make the delivery pending.
  void refuse_to_release(DeliveryId id) {
    session.execute(
        "CREATE TRIGGER del_sitio BEFORE UPDATE ON entregas FOR EACH ROW SET @x = IF(NEW.estado = "
        "'pendiente' AND NEW.id = " +
        to_string(id) + ", (SELECT 1 UNION SELECT 2), 0)");
  }
  std::vector<LeasedDelivery> claim_of_two_webhooks(const Lease& lease) {
    // The delivery of a webhook between the two ends the gap that a lock of the first one's deliveries
    // covers. Without it the gap reaches over the second one once InnoDB has purged what the claim has left.
    add_webhook(session, 3);
    const auto second = add_webhook(session, 2);
    for (const EntityId entity : {2, 3}) insert_notification(session, entity);
    queue(2);
    return claim(session, {{webhook.id, 2}, {second.id, 1}}, lease).leased.deliveries;
  }
  std::string state(const LeasedDelivery& delivery) { return find_delivery(session, delivery.id)->state; }
  /// The deliveries, the number of attempts, the last execution and the webhook's state, as one text.
  std::string seen() {
    return session
        .query(
            "SELECT CONCAT_WS(' ', (SELECT GROUP_CONCAT(estado, intentos, paso, COALESCE(arriendo, '') ORDER "
            "BY id)"
            " FROM entregas), (SELECT COUNT(*) FROM intentos_entrega), (SELECT "
            "CONCAT(COALESCE(ultimo_estado, ''),"
            " ultimo_error, sondeo, fallos) FROM webhook_ejecuciones), (SELECT activo FROM webhooks)) AS "
            "seen")
        .at(0)
        .text("seen");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lease, Fixture)

BOOST_AUTO_TEST_CASE(no_result_of_a_stale_owner_is_recorded_whatever_it_is) {
  queue(1);
  const auto stale = claim_some(1, passed).at(0);
  recover_expired_leases(session, 10);
  claim_some(1, present);
  auto gone = failed_attempt(stale, Milliseconds(1));
  gone.gone = true;
  auto failed = failed_attempt(stale, Milliseconds(1));
  failed.state = DeliveryState::failed;
  auto held = failed_attempt(stale, Milliseconds(0));
  held.state = DeliveryState::held;
  auto resting = failed_attempt(stale, Milliseconds(1));
  resting.one_at_a_time = true;
  resting.rest = Milliseconds(60000);
  const auto before = seen();
  for (const auto& result : {delivered(stale), gone, failed, held, resting}) {
    BOOST_CHECK_EQUAL(record_results(session, {result}, {Milliseconds(1)}).stale.size(), 1U);
    BOOST_CHECK_EQUAL(seen(), before);
  }
  release_leases(session, {stale});
  BOOST_CHECK_EQUAL(seen(), before);
}

BOOST_AUTO_TEST_CASE(the_rest_of_a_batch_is_written_without_what_is_stale) {
  queue(3);
  const auto stale = claim_some(1, passed).at(0);
  const auto owned = claim_some(2, present);
  BOOST_REQUIRE_EQUAL(owned.size(), 2U);
  recover_expired_leases(session, 10);
  const auto result = record_results(
      session, {failed_attempt(owned[0], Milliseconds(60000)), delivered(stale), delivered(owned[1])},
      {Milliseconds(0)});
  BOOST_CHECK_EQUAL(result.stale.size(), 1U);
  BOOST_CHECK(list_attempts(session, stale.id).empty());
  for (const auto& delivery : owned) BOOST_CHECK_EQUAL(list_attempts(session, delivery.id).size(), 1U);
  BOOST_CHECK_EQUAL(find_delivery(session, stale.id)->state, "pendiente");
  BOOST_CHECK_EQUAL(find_delivery(session, owned[0].id)->state, "pendiente");
  BOOST_CHECK_EQUAL(find_delivery(session, owned[1].id)->state, "entregada");
}

BOOST_AUTO_TEST_CASE(a_result_with_an_unacknowledged_commit_is_recorded_once) {
  queue(1);
  const auto leased = claim_some(1, present).at(0);
  record_results(session, {delivered(leased)}, {Milliseconds(0)});
  const auto before = seen();
  BOOST_CHECK_EQUAL(record_results(session, {delivered(leased)}, {Milliseconds(0)}).stale.size(), 1U);
  BOOST_CHECK_EQUAL(seen(), before);
}

BOOST_AUTO_TEST_CASE(an_expired_lease_holds_until_it_is_recovered) {
  // The late holder has sent the delivery, and no other dispatcher has claimed it, so the result counts.
  queue(1);
  const auto late = claim_some(1, passed).at(0);
  BOOST_CHECK(claim_some(1, present).empty());
  BOOST_CHECK_EQUAL(record_results(session, {delivered(late)}, {Milliseconds(0)}).stale.size(), 0U);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 0U);
  BOOST_CHECK_EQUAL(find_delivery(session, late.id)->state, "entregada");
}

BOOST_AUTO_TEST_CASE(an_expired_lease_of_the_fan_out_is_recovered) {
  insert_notification(session, 1);
  const auto created = fan_out(session, DeliveryState::leased, passed);
  BOOST_REQUIRE_EQUAL(created.size(), 1U);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  const auto again = claim_some(1, present);
  BOOST_REQUIRE_EQUAL(again.size(), 1U);
  BOOST_CHECK(again[0].id == created[0].id && again[0].attempts == 0 && again[0].failures == 0);
}

BOOST_AUTO_TEST_CASE(an_expired_lease_whose_result_waits_here_is_not_recovered) {
  queue(3);
  const auto expired = claim_some(3, passed);
  BOOST_REQUIRE_EQUAL(expired.size(), 3U);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10, {expired[0].id, expired[2].id}).count, 1U);
  BOOST_CHECK_EQUAL(state(expired[1]), "pendiente");
  BOOST_CHECK_EQUAL(record_results(session, {delivered(expired[0])}, {Milliseconds(0)}).stale.size(), 0U);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
}

BOOST_AUTO_TEST_CASE(a_lease_is_measured_by_the_clock_of_the_database) {
  queue(1);
  session.execute("SET SESSION timestamp = 1000000000");  // this session's UTC_TIMESTAMP is of 2001
  const auto leased = claim_some(1, present);
  session.execute("SET SESSION timestamp = DEFAULT");
  // By the session's clock the delivery was not yet due; by the program's clock it was.
  BOOST_CHECK(leased.empty());
  BOOST_CHECK_EQUAL(claim_some(1, present).size(), 1U);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 0U);
  session.execute("SET SESSION timestamp = UNIX_TIMESTAMP() + 61");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
}

BOOST_AUTO_TEST_CASE(an_expired_lease_that_the_database_refuses_to_end_keeps_no_other) {
  queue(4);
  const auto expired = claim_some(4, passed);
  BOOST_REQUIRE_EQUAL(expired.size(), 4U);
  refuse_to_release(expired[1].id);
  const auto recovered = recover_expired_leases(session, 10);
  BOOST_CHECK_EQUAL(recovered.count, 3U);
  BOOST_CHECK(recovered.refusal.starts_with("delivery " + to_string(expired[1].id) + ": "));
  for (const auto& one : expired)
    BOOST_CHECK_EQUAL(state(one), one.id == expired[1].id ? "en_curso" : "pendiente");
}

BOOST_AUTO_TEST_CASE(a_lease_that_cannot_be_ended_does_not_make_the_next_look_later) {
  queue(2);
  const auto refused = claim_some(1, passed).at(0);
  refuse_to_release(refused.id);
  const dispatcher::Metrics metrics;
  dispatcher::Maintenance maintenance({}, platform::Log(), metrics);
  const auto work_for = [&](Milliseconds time) {
    const auto end = platform::monotonic_now() + time;
    while (platform::monotonic_now() < end) maintenance.run(session, platform::monotonic_now(), true);
  };
  work_for(500ms);  // includes the first look for expired leases
  const auto second = claim_some(1, passed).at(0);
  work_for(2500ms);
  BOOST_CHECK_EQUAL(state(second), "pendiente");
  BOOST_CHECK_EQUAL(state(refused), "en_curso");
}

BOOST_AUTO_TEST_CASE(a_delivery_that_the_database_refuses_to_hand_back_keeps_no_other) {
  queue(4);
  const auto leased = claim_some(4, present);
  BOOST_REQUIRE_EQUAL(leased.size(), 4U);
  refuse_to_release(leased[1].id);
  const dispatcher::Metrics metrics;
  dispatcher::ResultBuffer buffer({}, platform::Log(platform::LogLevel::error), metrics);
  for (const auto& one : leased) {
    delivery::Attempt attempt;
    attempt.delivery = one;
    buffer.add(attempt);
  }
  BOOST_CHECK_NO_THROW(buffer.record(session));
  for (const auto& one : leased)
    BOOST_CHECK_EQUAL(state(one), one.id == leased[1].id ? "en_curso" : "pendiente");
  BOOST_CHECK_EQUAL(buffer.take_done().size(), 4U);  // the refused delivery, too: its lease expires by itself
}

BOOST_AUTO_TEST_CASE(a_locked_gap_keeps_only_the_leases_of_its_webhook) {
  if (!session.is_mariadb()) return;
  const auto expired = claim_of_two_webhooks(passed);
  BOOST_REQUIRE_EQUAL(expired.size(), 3U);
  auto other = lock_gap(database, webhook.id, "pendiente");
  BOOST_CHECK(waits_for_no_lock(session, [&] { BOOST_CHECK_NO_THROW(recover_expired_leases(session, 10)); }));
  for (const auto& one : expired)
    BOOST_CHECK_EQUAL(state(one), one.webhook == webhook.id ? "en_curso" : "pendiente");
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 2U);
}

BOOST_AUTO_TEST_CASE(a_locked_gap_keeps_only_the_deliveries_of_its_webhook_from_being_handed_back) {
  if (!session.is_mariadb()) return;
  const auto leased = claim_of_two_webhooks(present);
  BOOST_REQUIRE_EQUAL(leased.size(), 3U);
  auto other = lock_gap(database, webhook.id, "pendiente");
  std::vector<LeasedDelivery> held;
  BOOST_CHECK(
      waits_for_no_lock(session, [&] { BOOST_CHECK_NO_THROW(held = release_leases(session, leased)); }));
  for (const auto& one : leased)
    BOOST_CHECK_EQUAL(state(one), one.webhook == webhook.id ? "en_curso" : "pendiente");
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(held.size(), 2U);
  BOOST_CHECK(release_leases(session, held).empty());
}

BOOST_AUTO_TEST_SUITE_END()
