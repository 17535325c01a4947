// Reencryption seals secrets and test events again under a new key, also while another session changes them.
#include <boost/test/unit_test.hpp>

#include "lib/crypto/crypto.hpp"
#include "lib/webhook/sealed_data.hpp"
#include "tests/store/database.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;
using webhook::KeyRing;

namespace {

constexpr auto event = webhook::Event::incidencia_cerrada;

/// The ring keys() of these tests has one key, k1. This ring also has a newer key, k2, with which it seals.
const KeyRing& rotated() {
  static const KeyRing ring = KeyRing::parse(
      "k2:HxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4=\nk1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  return ring;
}

webhook::SealedSecret sealed_of(Session& session, WebhookId id) {
  const auto row =
      session.query("SELECT secreto_clave, HEX(secreto_sellado) AS sealed FROM webhooks WHERE id = ?", id)
          .at(0);
  return {row.text("secreto_clave"), crypto::from_hex(row.text("sealed")).value()};
}

std::string key_of(Session& session, WebhookId id) { return sealed_of(session, id).key_id; }

void queue_test(Session& session, EntityId entity, const std::string& data) {
  queue_test_event(session, entity, event, webhook::seal_test_data(keys(), entity, event, data));
}

std::string test_data(Session& session, const KeyRing& ring) {
  const auto row =
      session.query("SELECT entidad_id, datos FROM notificaciones_pendientes WHERE origen = 'prueba'").at(0);
  return webhook::open_test_data(ring, row.integer("entidad_id"), event, row.text("datos"))
      .value_or("cannot be opened");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(secrets)

BOOST_AUTO_TEST_CASE(everything_is_counted_and_sealed_again_once) {
  Database database;
  auto& session = database.session;
  const auto one = add_webhook(session, 1, "uno");
  add_webhook(session, 1);
  add_webhook(session, 2, "dos");
  queue_test(session, 1, R"({"a":7.50})");
  insert_notification(session, 1);

  auto used = sealed_by_key(session);
  BOOST_REQUIRE_EQUAL(used.size(), 1U);
  BOOST_CHECK(used[0].key_id == "k1" && used[0].webhooks == 2 && used[0].test_events == 1);
  const auto done = reencrypt(session, rotated());
  BOOST_CHECK(done.secrets == 2 && done.test_events == 1 && done.unreadable == 0);
  used = sealed_by_key(session);
  BOOST_REQUIRE_EQUAL(used.size(), 1U);
  BOOST_CHECK(used[0].key_id == "k2" && used[0].webhooks == 2 && used[0].test_events == 1);
  BOOST_CHECK_EQUAL(rotated().open(one.id, sealed_of(session, one.id)).value(), "uno");
  BOOST_CHECK_EQUAL(test_data(session, rotated()), R"({"a":7.50})");
  const auto again = reencrypt(session, rotated());
  BOOST_CHECK(again.secrets == 0 && again.test_events == 0 && again.unreadable == 0);
}

BOOST_AUTO_TEST_CASE(a_secret_that_cannot_be_opened_is_left_unchanged) {
  Database database;
  auto& session = database.session;
  std::vector<WebhookId> ids;
  for (int entity = 1; entity <= 45; ++entity)
    for (int i = 0; i < 5; ++i) ids.push_back(add_webhook(session, entity, "s").id);
  // A webhook gets the sealed secret of another. The secret cannot be opened there, and stays unchanged.
  const auto swapped = sealed_of(session, ids[0]);
  session.update(
      "UPDATE webhooks a JOIN webhooks b ON b.id = ? SET a.secreto_sellado = b.secreto_sellado WHERE a.id = "
      "?",
      ids[0], ids[150]);
  const auto done = reencrypt(session, rotated());
  BOOST_CHECK_EQUAL(done.secrets, 224U);
  BOOST_CHECK_EQUAL(done.unreadable, 1U);
  BOOST_CHECK_EQUAL(key_of(session, ids[150]), "k1");
  BOOST_CHECK(sealed_of(session, ids[150]).ciphertext == swapped.ciphertext);
  BOOST_CHECK_EQUAL(key_of(session, ids[224]), "k2");
}

BOOST_AUTO_TEST_CASE(a_webhook_that_the_database_refuses_to_change_keeps_no_other_from_the_new_key) {
  Database database;
  auto& session = database.session;
  const auto refused = add_webhook(session, 1, "uno"), second = add_webhook(session, 2, "dos");
  session.execute("CREATE TRIGGER refuse BEFORE UPDATE ON webhooks FOR EACH ROW BEGIN IF NEW.id = " +
                  to_string(refused.id) +
                  " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  ReencryptResult done;
  BOOST_CHECK_NO_THROW(done = reencrypt(session, rotated()));
  BOOST_CHECK(done.secrets == 1 && done.refused == 1 && done.unreadable == 0);
  BOOST_CHECK_EQUAL(done.refusal.substr(0, done.refusal.find(':')), "webhook " + to_string(refused.id));
  BOOST_CHECK_EQUAL(key_of(session, second.id), "k2");
}

BOOST_AUTO_TEST_CASE(a_concurrent_change_or_delete_survives_reencryption) {
  Database database;
  auto& session = database.session;
  const auto changed = add_webhook(session, 1, "uno");
  const auto deleted = add_webhook(session, 1, "dos");
  const auto last = add_webhook(session, 1, "tres");
  // An open transaction changes the first webhook and deletes the second, so reencrypt() reads the old
  // secrets, and then waits for the lock of the first.
  const auto fresh = keys().seal(changed.id, "otro");
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.update("UPDATE webhooks SET secreto_sellado = UNHEX(?) WHERE id = ?",
               crypto::to_hex(fresh.ciphertext), changed.id);
  other.update(
      "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3), secreto_clave = NULL,"
      " secreto_sellado = NULL WHERE id = ?",
      deleted.id);
  bool waited = false;
  ThreadedWork committer([&] {
    // Commits once reencrypt() waits for the row. The secrets that reencrypt() has read are then outdated.
    waited = wait_for_row_lock(other, std::chrono::seconds(10));
    other.execute("COMMIT");
  });
  const auto done = reencrypt(session, rotated());
  committer.join();
  BOOST_TEST(waited);
  BOOST_CHECK_EQUAL(done.secrets, 1U);
  BOOST_CHECK_EQUAL(key_of(session, changed.id), "k1");
  BOOST_CHECK_EQUAL(keys().open(changed.id, sealed_of(session, changed.id)).value(), "otro");
  BOOST_CHECK(session.query("SELECT secreto_sellado FROM webhooks WHERE id = ?", deleted.id)
                  .at(0)
                  .null("secreto_sellado"));
  BOOST_CHECK_EQUAL(key_of(session, last.id), "k2");
  BOOST_CHECK_EQUAL(reencrypt(session, rotated()).secrets, 1U);
}

BOOST_AUTO_TEST_SUITE_END()
