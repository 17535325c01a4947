// Entities, tokens and webhooks.
#include <atomic>
#include <boost/test/unit_test.hpp>

#include "lib/webhook/access_token.hpp"
#include "tests/store/database.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;

namespace {

struct IssuedToken {
  TokenId id;
  crypto::Sha256 hash;
};
IssuedToken issue(Session& session, EntityId entity, std::optional<platform::Milliseconds> ttl = {}) {
  const auto hash = webhook::access_token_hash(webhook::generate_access_token()).value();
  return {issue_token(session, {entity, hash, ttl, "prueba"}).value(), hash};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(webhooks)

BOOST_AUTO_TEST_CASE(many_tokens_in_any_order_and_repeated_find_each_its_own_entity) {
  Database database;
  auto& session = database.session;
  add_entity(session, 1, "Una");
  add_entity(session, 2, "Dos");
  const auto one = issue(session, 1), other_of_one = issue(session, 1), two = issue(session, 2);
  const auto revoked = issue(session, 2);
  revoke_token(session, revoked.id);
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  for (const EntityId entity : {1, 2, 2})
    create_webhook(session, {entity, "https://receptor.example.org/", events, std::nullopt}, keys());
  const std::vector<TokenHash> hashes{two.hash, revoked.hash, one.hash, {}, other_of_one.hash, two.hash};
  const auto callers = find_callers(session, hashes);
  BOOST_TEST_REQUIRE(callers.size() == hashes.size());
  BOOST_CHECK(!callers[1] && !callers[3]);
  const std::vector<std::pair<std::size_t, EntityId>> expected{{0, 2}, {2, 1}, {4, 1}, {5, 2}};
  for (const auto& [position, entity] : expected) {
    BOOST_TEST(callers.at(position)->id == entity);
    BOOST_TEST(callers.at(position)->webhooks.size() == static_cast<std::size_t>(entity.number()));
    for (const auto& webhook : callers.at(position)->webhooks) BOOST_TEST(webhook.entity == entity);
  }
  BOOST_CHECK(find_callers(session, {}).empty());
  const auto alone = find_caller(session, two.hash, CallerWith::nothing_else).value();
  BOOST_TEST(alone.id == 2);
  BOOST_TEST(alone.token == two.id);
  BOOST_TEST(alone.webhooks.empty());
}

BOOST_AUTO_TEST_CASE(a_token_finds_its_entity_until_it_expires_is_revoked_or_the_entity_is_disabled) {
  Database database;
  auto& session = database.session;
  BOOST_CHECK(add_entity(session, 1, "una"));
  BOOST_CHECK(!add_entity(session, 1, "Una"));
  const auto token = issue(session, 1);
  BOOST_CHECK_EQUAL(find_caller(session, token.hash)->name, "Una");
  BOOST_CHECK(find_caller(session, token.hash)->webhooks.empty());
  const auto found = [&] { return find_caller(session, token.hash, CallerWith::nothing_else).has_value(); };
  BOOST_CHECK(found());
  BOOST_CHECK(
      !find_caller(session, issue(session, 1, platform::Milliseconds(0)).hash, CallerWith::nothing_else));
  BOOST_CHECK(!find_caller(session, issue(session, 1, platform::Milliseconds(0)).hash));
  BOOST_CHECK(set_entity_active(session, 1, false));
  BOOST_CHECK(!find_caller(session, token.hash) && !found());
  BOOST_CHECK(set_entity_active(session, 1, true));
  BOOST_CHECK(find_caller(session, token.hash) && found());
  BOOST_CHECK(revoke_token(session, token.id));
  BOOST_CHECK(!find_caller(session, token.hash) && !found());
  BOOST_CHECK(!revoke_token(session, 999));
  BOOST_CHECK(!issue_token(session, {999, token.hash}));
  BOOST_CHECK_EQUAL(list_tokens(session, 1).size(), 3U);
}

BOOST_AUTO_TEST_CASE(five_webhooks_also_under_concurrent_requests) {
  Database database;
  add_entity(database.session, 1, "una");
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  std::atomic<int> created = 0;
  run_at_once(8, [&](int) {
    Session session = database.connect();
    for (int n = 0; n < 2; ++n)
      created += despite_lock_timeouts([&] {
        return create_webhook(session, {1, "https://a.example.org/", events, {}}, keys()).webhook ? 1 : 0;
      });
  });
  BOOST_CHECK_EQUAL(created, 5);
  BOOST_CHECK_EQUAL(list_webhooks(database.session, {}).size(), 5U);
}

BOOST_AUTO_TEST_CASE(deleting_frees_the_slot_forgets_the_secret_and_is_only_for_the_owner) {
  Database database;
  const auto webhook = add_webhook(database.session, 1, "secreto");
  BOOST_CHECK(!delete_webhook(database.session, {2}, webhook.id));
  BOOST_CHECK(delete_webhook(database.session, {1}, webhook.id));
  BOOST_CHECK(!delete_webhook(database.session, {1}, webhook.id));
  BOOST_CHECK(!find_webhook(database.session, webhook.id));
  BOOST_CHECK(database.session.query("SELECT secreto_sellado FROM webhooks WHERE id = ?", webhook.id)
                  .at(0)
                  .null("secreto_sellado"));
  for (int i = 0; i < 5; ++i) add_webhook(database.session, 1);
}

BOOST_AUTO_TEST_CASE(events_come_back_in_catalogue_order) {
  Database database;
  add_entity(database.session, 1, "una");
  webhook::EventSet events;
  events.insert(webhook::Event::documento_disponible);
  events.insert(webhook::Event::evaluacion_prorroga);
  const auto created =
      create_webhook(database.session, {1, "https://a.example.org/", events, {}}, keys()).webhook.value();
  BOOST_CHECK(created.events == events);
  BOOST_CHECK_EQUAL(database.session.query("SELECT eventos FROM webhooks").at(0).text("eventos"),
                    "evaluacion.prorroga,documento.disponible");
}

BOOST_AUTO_TEST_CASE(secrets_are_sealed_bound_to_their_webhook) {
  Database database;
  const auto webhook = add_webhook(database.session, 1, "muy secreto");
  const auto row =
      database.session.query("SELECT secreto_clave, HEX(secreto_sellado) AS sealed FROM webhooks").at(0);
  const webhook::SealedSecret sealed{row.text("secreto_clave"), crypto::from_hex(row.text("sealed")).value()};
  BOOST_CHECK_EQUAL(keys().open(webhook.id, sealed).value(), "muy secreto");
  BOOST_CHECK(!keys().open(webhook.id.next(), sealed));
}

BOOST_AUTO_TEST_CASE(a_test_event_makes_one_delivery_for_each_active_subscriber) {
  Database database;
  const auto first = add_webhook(database.session, 1);
  const auto disabled = add_webhook(database.session, 1);
  const auto third = add_webhook(database.session, 1);
  add_webhook(database.session, 2);
  BOOST_CHECK(disable_webhook(database.session, disabled.id, disabled_by_operator));
  const auto chosen =
      queue_test_event(database.session, 1, webhook::Event::incidencia_cerrada, R"({"test":true})");
  BOOST_REQUIRE_EQUAL(chosen.size(), 2U);
  BOOST_CHECK_EQUAL(chosen[0].id, first.id);
  BOOST_CHECK_EQUAL(chosen[1].id, third.id);
  const auto deliveries = list_deliveries(database.session, {});
  BOOST_REQUIRE_EQUAL(deliveries.size(), 2U);
  const auto notification = find_notification(database.session, deliveries[0].notification).value();
  BOOST_CHECK_EQUAL(notification.origin, "prueba");
  BOOST_CHECK_EQUAL(notification.state, "procesada");
  BOOST_CHECK(queue_test_event(database.session, 3, webhook::Event::incidencia_cerrada, "{}").empty());
}

// The webhooks of entities 6, 7 and 8 are neighbours in the index by which an entity's webhooks are locked.
BOOST_AUTO_TEST_CASE(a_test_event_waits_for_no_lock_of_another_entity) {
  Database database;
  add_webhook(database.session, 7);
  std::vector<WebhookId> others;
  for (const EntityId entity : {6, 8}) others.push_back(add_webhook(database.session, entity).id);
  Session other = database.connect();
  other.execute("START TRANSACTION");
  for (const auto id : others) {
    const auto sql =
        "SELECT plaza FROM webhooks WHERE entidad_id = (SELECT entidad_id FROM webhooks WHERE id = " +
        to_string(id) + ") AND plaza = 1 FOR UPDATE";
    BOOST_TEST(other.query(sql).size() == 1U);
  }
  database.session.execute("SET SESSION innodb_lock_wait_timeout = 1");
  BOOST_TEST(queue_test_event(database.session, 7, webhook::Event::incidencia_cerrada, "{}").size() == 1U);
}

BOOST_AUTO_TEST_CASE(disabling_holds_and_enabling_releases_or_discards) {
  Database database;
  auto& session = database.session;
  const auto webhook = add_webhook(session, 1);
  insert_notification(session, 1);
  fan_out(session);
  BOOST_CHECK(disable_webhook(session, webhook.id, disabled_by_operator));
  BOOST_CHECK_EQUAL(*find_webhook(session, webhook.id)->inactive_reason, "operador");
  BOOST_CHECK_EQUAL(reconcile(session).held, 1U);
  BOOST_CHECK_EQUAL(reconcile(session).released, 0U);
  BOOST_CHECK_EQUAL(enable_webhook(session, webhook.id, false)->released, 1U);
  BOOST_CHECK_EQUAL(session.query("SELECT COUNT(desactivado_en) AS n FROM webhooks").at(0).integer("n"), 0);
  BOOST_CHECK(disable_webhook(session, webhook.id, disabled_by_operator));
  BOOST_CHECK_EQUAL(enable_webhook(session, webhook.id, true)->cancelled, 1U);
  BOOST_CHECK_EQUAL(list_deliveries(session, {}).at(0).state, "cancelada");
  BOOST_CHECK(!enable_webhook(session, 999, false));
}

// The dispatcher may hold an inactive webhook's pending deliveries while the operator discards them.
BOOST_AUTO_TEST_CASE(a_delivery_held_during_a_discard_is_cancelled_too) {
  Database database;
  auto& session = database.session;
  const auto webhook = add_webhook(session, 1);
  // With so many deliveries, statements use indexes. A statement that read the whole table would wait for the
  // locked rows.
  constexpr unsigned deliveries = 100;
  for (unsigned i = 0; i < deliveries; ++i) insert_notification(session, 1);
  fan_out(session);
  session.query("ANALYZE TABLE entregas");
  disable_webhook(session, webhook.id, disabled_by_operator);
  Session dispatcher = database.connect();
  dispatcher.execute("START TRANSACTION");
  const auto locked = dispatcher.query(
      "SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente' FOR UPDATE");
  BOOST_TEST(locked.size() == deliveries);
  bool waited = false;
  ThreadedWork holding([&] {
    waited = wait_for_row_lock(dispatcher, std::chrono::seconds(10), "%UPDATE entregas%");
    dispatcher.update("UPDATE entregas SET estado = 'retenida'");
    dispatcher.execute("COMMIT");
  });
  const auto done = enable_webhook(session, webhook.id, true).value();
  holding.join();
  BOOST_TEST(waited);
  BOOST_TEST(done.cancelled == deliveries);
  BOOST_TEST(done.released == 0U);
  BOOST_TEST(list_deliveries(session, {}).at(0).state == "cancelada");
}

BOOST_AUTO_TEST_SUITE_END()
