// Registrations with an Idempotency-Key: repeated, concurrent, too late, and after their webhook is deleted.
#include "lib/store/webhooks/idempotency.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/store/maintenance_support.hpp"
#include "tests/store/quota_support.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;

namespace {

constexpr unsigned limit = 7;

NewWebhook registration(EntityId entity) {
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  return {entity, "https://receptor.example.org/", events, "s"};
}

std::string answer_of(const Webhook& made) { return "webhook " + to_string(made.id); }

Registered register_once(Session& session, EntityId entity, std::string_view key, std::string_view body,
                         const webhook::KeyRing& ring = keys(), unsigned max = limit) {
  return create_webhook(session, registration(entity), ring, max,
                        IdempotentRequest{entity, key, body, answer_of});
}
std::string answer_of(const Registered& once) {
  return once.earlier ? once.earlier->answer : answer_of(once.webhook.value());
}

struct Fixture : MaintenanceFixture {
  Fixture() {
    add_entity(session, 1, "Entidad");
    add_entity(session, 2, "Entidad");
  }
  /// Requests a registration. Returns the answer's body; for a repetition, the body of the first answer.
  std::string answer(std::string_view key, std::string_view body, EntityId entity = 1) {
    return answer_of(register_once(session, entity, key, body));
  }
  EarlierResult earlier(std::string_view key, std::string_view body, const webhook::KeyRing& ring = keys()) {
    return register_once(session, 1, key, body, ring).earlier.value().result;
  }
  std::int64_t registered(EntityId entity = 1) {
    return count("webhooks", "entidad_id = " + to_string(entity));
  }
  void make_older(const std::string& by) {
    session.execute("UPDATE claves_idempotencia SET creada_en = UTC_TIMESTAMP(3) - INTERVAL " + by);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(idempotency, Fixture)

BOOST_AUTO_TEST_CASE(a_repeated_registration_gets_the_same_answer_and_costs_nothing) {
  const auto first = answer("k", "cuerpo");
  const auto used = number("SELECT MICROSECOND(saldadas_hasta) FROM altas_webhook");
  for (int i = 0; i < 20; ++i) BOOST_TEST(answer("k", "cuerpo") == first);
  BOOST_TEST(registered() == 1);
  BOOST_TEST(number("SELECT MICROSECOND(saldadas_hasta) FROM altas_webhook") == used);
  BOOST_TEST(count("auditoria") == 1);
  BOOST_TEST(answer("K", "cuerpo") != first);  // another key
  BOOST_TEST(answer("k", "cuerpo", 2) != first);
  BOOST_TEST(registered() == 2);
  BOOST_TEST(registered(2) == 1);
}

BOOST_AUTO_TEST_CASE(another_body_registers_nothing) {
  answer("k", "cuerpo");
  for (const auto* other : {"cuerpo ", "", "Cuerpo", "k cuerpo"})
    BOOST_CHECK(earlier("k", other) == EarlierResult::another_body);
  BOOST_TEST(registered() == 1);
}

BOOST_AUTO_TEST_CASE(a_repetition_comes_before_the_five_and_the_limit) {
  const auto first = answer("k1", "cuerpo");
  for (const auto* key : {"k2", "k3", "k4", "k5"}) answer(key, "cuerpo");
  const auto sixth = register_once(session, 1, "k6", "cuerpo");
  BOOST_TEST((!sixth.webhook && !sixth.earlier));
  BOOST_TEST(count("claves_idempotencia") == 5);  // the sixth request is not remembered
  BOOST_TEST(answer("k1", "cuerpo") == first);
  delete_webhook(session, {1}, number("SELECT MAX(id) FROM webhooks"));
  delete_webhook(session, {1}, number("SELECT MAX(id) FROM webhooks WHERE plaza IS NOT NULL"));
  answer("k6", "cuerpo");
  answer("k7", "cuerpo");
  delete_webhook(session, {1}, number("SELECT MAX(id) FROM webhooks"));
  BOOST_CHECK_EXCEPTION(register_once(session, 1, "k8", "cuerpo"), OverQuota, is_of(Quota::registrations));
  BOOST_TEST(count("claves_idempotencia") == 7);
  BOOST_TEST(answer("k1", "cuerpo") == first);
}

BOOST_AUTO_TEST_CASE(a_deleted_webhook_is_not_registered_again) {
  answer("k", "cuerpo");
  delete_webhook(session, {1}, number("SELECT MAX(id) FROM webhooks"));
  BOOST_CHECK(earlier("k", "cuerpo") == EarlierResult::webhook_deleted);
  session.execute("UPDATE webhooks SET secreto_clave = NULL, secreto_sellado = NULL");
  session.execute("DELETE FROM webhooks");  // as when deleted webhooks are purged
  BOOST_CHECK(earlier("k", "cuerpo") == EarlierResult::webhook_deleted);
}

BOOST_AUTO_TEST_CASE(the_body_is_known_as_long_as_its_key_is_there) {
  const std::string line = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
  const std::string newer = "k2:HxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4=\n";
  const auto first = answer("k", "cuerpo");
  const auto rotated = webhook::KeyRing::parse(newer + line);
  BOOST_TEST(register_once(session, 1, "k", "cuerpo", rotated).earlier.value().answer == first);
  BOOST_CHECK(earlier("k", "otro", rotated) == EarlierResult::another_body);
  for (const auto* body : {"cuerpo", "otro"})
    BOOST_CHECK(earlier("k", body, webhook::KeyRing::parse(newer)) == EarlierResult::cannot_tell);
  BOOST_TEST(count("claves_idempotencia", "cuerpo_huella LIKE '%cuerpo%' OR respuesta LIKE '%cuerpo%'") == 0);
}

BOOST_AUTO_TEST_CASE(after_24_hours_it_is_a_key_like_any_other) {
  const auto first = answer("k", "cuerpo");
  make_older("86399 SECOND");
  BOOST_TEST(forget_old_requests(session) == 0U);
  BOOST_TEST(answer("k", "cuerpo") == first);
  make_older("86400 SECOND");
  const auto second = answer("k", "otro");  // although the old row of `k` still exists
  BOOST_TEST(second != first);
  BOOST_TEST(answer("k", "otro") == second);
  BOOST_TEST(count("claves_idempotencia") == 1);
  make_older("86400 SECOND");
  BOOST_TEST(forget_old_requests(session) == 1U);
  BOOST_TEST(count("claves_idempotencia") == 0);
}

BOOST_AUTO_TEST_CASE(eight_concurrent_repetitions_register_one_webhook_without_conflict) {
  std::atomic<int> conflicts = 0;
  for (const unsigned max : {0U, limit}) {  // 0: no limit
    const auto key = std::to_string(max);
    std::vector<std::string> answers(8);
    run_at_once(8, [&](int i) {
      auto one = connect_counting(database, conflicts);
      answers.at(static_cast<std::size_t>(i)) =
          answer_of(despite_lock_timeouts([&] { return register_once(one, 1, key, "cuerpo", keys(), max); }));
    });
    BOOST_TEST(std::set<std::string>(answers.begin(), answers.end()).size() == 1U);
    BOOST_TEST(answers[0].starts_with("webhook "));
  }
  BOOST_TEST(registered() == 2);
  BOOST_TEST(conflicts == 0);
}

// `plaza` numbers an entity's webhooks, from 1 to 5. Without the wait, a repetition could look for the
// key before the first request commits, and for a free `plaza` afterwards. If the first request took the last
// `plaza`, the repetition would be answered with 400, although the webhook is registered.
BOOST_AUTO_TEST_CASE(a_concurrent_registration_waits_for_the_quota_lock) {
  Session other = database.connect();
  session.execute("START TRANSACTION");
  lock_quotas(session, 1);
  std::string text;
  std::atomic<bool> done = false;
  ThreadedWork second([&] {
    text =
        answer_of(despite_lock_timeouts([&] { return register_once(other, 1, "k", "cuerpo", keys(), 0); }));
    done = true;
  });
  Session look = database.connect();
  BOOST_TEST(wait_for_row_lock(look, std::chrono::seconds(10), "%altas_webhook%"));
  BOOST_TEST(!done);
  session.execute("ROLLBACK");
  second.join();
  BOOST_TEST(text.starts_with("webhook "));
  BOOST_TEST(registered() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
