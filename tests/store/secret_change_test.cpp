// A new secret for a webhook, and the grace period of the previous one.
#include "lib/store/webhooks/secret_change.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "lib/crypto/crypto.hpp"
#include "lib/store/backlog/webhook_backlog.hpp"
#include "lib/store/webhooks/changes.hpp"
#include "lib/store/webhooks/secrets.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/store/quota_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;

namespace {

struct SecretFixture : DeliveryFixture {
  std::string refusal;

  SecretFixture() { webhook = add_webhook(session, 3, "uno"); }

  SecretChange set(const std::string& secret, std::chrono::seconds grace = 24h) {
    return change_secret(session, {3, 9}, webhook.id, {secret, grace}, keys());
  }
  /// The secrets that sign: the current one, and the previous one during its grace period.
  std::vector<std::string> in_force() {
    insert_notification(session, 3);
    fan_out(session);
    const auto target = claim(session, {{webhook.id, 1}}, long_lease).leased.targets.at(webhook.id);
    std::vector<std::string> secrets;
    for (const auto& sealed : {target.secret, target.previous_secret})
      if (sealed) secrets.push_back(keys().open(webhook.id, *sealed).value());
    return secrets;
  }
  std::int64_t kept() {
    return session
        .query(
            "SELECT (secreto_sellado IS NOT NULL) + (secreto_b_sellado IS NOT NULL) AS n FROM webhooks WHERE "
            "id = ?",
            webhook.id)
        .at(0)
        .integer("n");
  }
  /// The secret in column a (`secreto_sellado`), the only column that an earlier release knows. Column b is
  /// `secreto_b_sellado`.
  std::string in_a() {
    const auto row =
        session
            .query("SELECT secreto_clave, HEX(secreto_sellado) AS sellado FROM webhooks WHERE id = ?",
                   webhook.id)
            .at(0);
    const auto key = row.optional_text("secreto_clave");
    if (!key) return "nothing";
    return keys().open(webhook.id, {*key, crypto::from_hex(row.text("sellado")).value()}).value();
  }
  std::size_t audited() {
    ListFilter filter;
    filter.webhook = webhook.id;
    return list_audit(session, filter).size();
  }
  void let_grace_end() {
    session.update(
        "UPDATE webhooks SET secreto_anterior_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE id = ?",
        webhook.id);
  }
};
using Texts = std::vector<std::string>;

std::string version(Session& session, WebhookId id) {
  return version_of(find_detail(session, 3, id).value());
}

/// k2 seals, k1 still opens.
const webhook::KeyRing& newer_keys() {
  static const auto ring = webhook::KeyRing::parse(
      "k2:HxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4=\nk1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  return ring;
}

/// k1 seals, k2 still opens.
const webhook::KeyRing& keys_again() {
  static const auto ring = webhook::KeyRing::parse(
      "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\nk2:HxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4=\n");
  return ring;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(secret_change, SecretFixture)

BOOST_AUTO_TEST_CASE(both_sign_while_the_grace_runs) {
  BOOST_CHECK(in_force() == Texts{"uno"});
  const auto changed = set("dos", 1h);
  BOOST_CHECK(changed.result == SecretChanged::done && changed.previous_until);
  BOOST_CHECK((in_force() == Texts{"dos", "uno"}));
  let_grace_end();
  BOOST_CHECK(in_force() == Texts{"dos"});  // before "uno" is erased
  BOOST_CHECK_EQUAL(kept(), 2);
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(kept(), 1);
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 0U);
  BOOST_CHECK(in_force() == Texts{"dos"});
  set("tres", 1h);
  BOOST_CHECK((in_force() == Texts{"tres", "dos"}));
}

// `webhook explain` names the key of the current secret if the key file lacks it. A missing key of the
// previous secret stops no delivery.
BOOST_AUTO_TEST_CASE(the_key_of_the_present_secret) {
  const auto key = [this] { return find_backlog(session, webhook.id).value().secret_key.value_or("none"); };
  BOOST_CHECK_EQUAL(key(), "k1");
  change_secret(session, {3, 9}, webhook.id, {"dos", 24h}, newer_keys());
  BOOST_CHECK_EQUAL(key(), "k2");  // in column b
  let_grace_end();
  erase_ended_secrets(session, refusal);
  BOOST_CHECK_EQUAL(key(), "k2");  // in column a
  change_secret(session, {3, 9}, webhook.id, {"tres", 24h}, keys_again());
  BOOST_CHECK_EQUAL(key(), "k1");  // in column b
}

BOOST_AUTO_TEST_CASE(an_earlier_version_always_finds_a_secret) {
  set("dos", 1h);
  BOOST_CHECK_EQUAL(in_a(), "uno");  // the previous secret, which still signs
  let_grace_end();
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(in_a(), "dos");
  BOOST_CHECK(find_detail(session, 3, webhook.id)->has_secret);
  set("tres", 0s);
  BOOST_CHECK_EQUAL(in_a(), "tres");
  set("cuatro", 1h);
  set("cinco", 0s);
  BOOST_CHECK_EQUAL(in_a(), "cinco");
  BOOST_CHECK_EQUAL(kept(), 1);
  set("seis", 1h);
  BOOST_CHECK(end_grace(session, {3, 9}, webhook.id));
  set("siete", 1h);  // before the dispatcher has moved the current secret to column a
  BOOST_CHECK((in_force() == Texts{"siete", "seis"}));
  BOOST_CHECK_EQUAL(in_a(), "siete");
  let_grace_end();
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(in_a(), "siete");
  BOOST_CHECK_EQUAL(kept(), 1);
  BOOST_CHECK(in_force() == Texts{"siete"});
  BOOST_CHECK(set("siete").result == SecretChanged::done && kept() == 1);  // recognised as the current one
}

/// An earlier release, which knows only column a, deletes the webhook.
BOOST_AUTO_TEST_CASE(no_secret_of_a_deleted_webhook_is_kept) {
  set("dos", 1h);
  session.update(
      "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3), secreto_clave = NULL,"
      " secreto_sellado = NULL WHERE id = ?",
      webhook.id);
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(kept(), 0);
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 0U);
}

BOOST_AUTO_TEST_CASE(a_webhook_that_the_database_refuses_to_change_keeps_no_other_secret) {
  const auto second = add_webhook(session, 2, "uno");
  change_secret(session, {2, 9}, second.id, {"dos", 24h}, keys());
  set("dos");
  session.execute(
      "UPDATE webhooks SET secreto_anterior_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE "
      "secreto_b_clave IS NOT NULL");
  session.execute("CREATE TRIGGER refuse BEFORE UPDATE ON webhooks FOR EACH ROW BEGIN IF NEW.id = " +
                  to_string(second.id) +
                  " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(kept(), 1);
  BOOST_CHECK_EQUAL(refusal.substr(0, refusal.find(':')), "webhook " + to_string(second.id));
}

BOOST_AUTO_TEST_CASE(the_same_secret_again_is_the_same) {
  BOOST_CHECK(set("uno").result == SecretChanged::done);
  BOOST_CHECK(!find_detail(session, 3, webhook.id)->modified && kept() == 1);
  const auto first = set("dos");
  const auto again = set("dos");
  BOOST_CHECK(again.result == SecretChanged::done && again.previous_until == first.previous_until);
  const auto before = audited();
  BOOST_CHECK(!set("dos", 0s).previous_until);  // the grace ends
  BOOST_CHECK_EQUAL(audited(), before + 1);
  BOOST_CHECK(in_force() == Texts{"dos"});
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(kept(), 1);
  BOOST_CHECK(!set("dos", 0s).previous_until);
  BOOST_CHECK_EQUAL(audited(), before + 1);
}

BOOST_AUTO_TEST_CASE(a_third_secret_is_accepted_only_without_a_grace) {
  const auto first = set("dos");
  const auto refused = set("tres");
  BOOST_CHECK(refused.result == SecretChanged::grace_running &&
              refused.previous_until == first.previous_until);
  BOOST_CHECK((in_force() == Texts{"dos", "uno"}));
  BOOST_CHECK(set("tres", 0s).result == SecretChanged::done);
  BOOST_CHECK(in_force() == Texts{"tres"});
  BOOST_CHECK_EQUAL(kept(), 1);
}

BOOST_AUTO_TEST_CASE(the_first_secret_has_no_grace) {
  webhook = add_webhook(session, 3);
  BOOST_CHECK(in_force().empty());
  BOOST_CHECK(!set("uno").previous_until);
  BOOST_CHECK(in_force() == Texts{"uno"});
  BOOST_CHECK(find_detail(session, 3, webhook.id)->has_secret);
}

BOOST_AUTO_TEST_CASE(a_grace_can_be_ended) {
  BOOST_CHECK(!end_grace(session, {3, 9}, webhook.id));
  set("dos");
  BOOST_CHECK(!end_grace(session, {2}, webhook.id));
  BOOST_CHECK(end_grace(session, {3, 9}, webhook.id));
  BOOST_CHECK(in_force() == Texts{"dos"});  // before "uno" is erased
  BOOST_CHECK_EQUAL(erase_ended_secrets(session, refusal), 1U);
  BOOST_CHECK_EQUAL(kept(), 1);
  BOOST_CHECK(!end_grace(session, {3, 9}, webhook.id));
}

BOOST_AUTO_TEST_CASE(only_the_owner_changes_a_secret_and_the_audit_omits_it) {
  BOOST_CHECK(change_secret(session, {2}, webhook.id, {"x", 0s}, keys()).result == SecretChanged::not_found);
  set("dos-secreto", 60s);
  ListFilter filter;
  filter.webhook = webhook.id;
  const auto last = list_audit(session, filter).back();
  BOOST_CHECK(last.action == "secreto" && last.token == 9 && last.detail == R"({"graciaSegundos":60})");
  delete_webhook(session, {3}, webhook.id);
  BOOST_CHECK_EQUAL(kept(), 0);
}

BOOST_AUTO_TEST_CASE(secret_changes_beyond_the_quota_are_refused) {
  const auto set_limited = [&](const std::string& secret, std::chrono::seconds grace) {
    return change_secret(session, {3}, webhook.id, {secret, grace}, keys(), 1);
  };
  set_limited("dos", 60s);
  BOOST_CHECK(set_limited("dos", 60s).result == SecretChanged::done);
  end_grace(session, {3}, webhook.id);
  BOOST_CHECK_EXCEPTION(set_limited("tres", 60s), OverQuota, is_of(Quota::changes));
  BOOST_CHECK(in_force() == Texts{"dos"});
  // A leak.
  BOOST_CHECK(set_limited("tres", 0s).result == SecretChanged::done);
  BOOST_CHECK(set_limited("cuatro", 0s).result == SecretChanged::done);
  BOOST_CHECK(in_force() == Texts{"cuatro"});
}

BOOST_AUTO_TEST_CASE(both_are_sealed_again_under_another_key) {
  set("dos");
  const auto both = webhook::KeyRing::parse(
      "k2:HxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4=\nk1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  BOOST_CHECK_EQUAL(sealed_by_key(session).at(0).webhooks, 2);
  BOOST_CHECK_EQUAL(reencrypt(session, both).secrets, 2U);
  const auto sealed = sealed_by_key(session);
  BOOST_REQUIRE_EQUAL(sealed.size(), 1U);
  BOOST_CHECK(sealed[0].key_id == "k2" && sealed[0].webhooks == 2);
  const auto new_one = webhook::KeyRing::parse("k2:HxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4=\n");
  const auto set_alone = [&](const std::string& secret, std::chrono::seconds grace) {
    return change_secret(session, {3, 9}, webhook.id, {secret, grace}, new_one);
  };
  const auto before = audited();
  BOOST_CHECK(set_alone("dos", 24h).result == SecretChanged::done);  // without k1, which sealed it before
  BOOST_CHECK_EQUAL(audited(), before);
  BOOST_CHECK(set_alone("uno", 24h).result == SecretChanged::grace_running);  // "uno" is not the current one
}

BOOST_AUTO_TEST_CASE(the_version_outlives_another_key_but_no_other_secret) {
  const auto id = webhook.id;
  const auto without_date = [&] { session.update("UPDATE webhooks SET fecha_modificacion = NULL"); };
  std::set<std::string> seen{version(session, id)};
  for (const auto& secret : {"dos", "tres", "cuatro"}) {  // stored in column b, then twice in a
    const auto before = version(session, id);
    BOOST_CHECK_EQUAL(reencrypt(session, newer_keys()).secrets, std::uint64_t(kept()));
    BOOST_CHECK_EQUAL(version(session, id), before);
    // All secrets are sealed under k2 now; this seals them again under k1.
    BOOST_CHECK_EQUAL(reencrypt(session, keys_again()).secrets, std::uint64_t(kept()));
    BOOST_CHECK_EQUAL(version(session, id), before);
    set(secret, std::string(secret) == "dos" ? 1h : 0s);
    without_date();  // the version must differ even if two changes share a millisecond
    BOOST_CHECK(seen.insert(version(session, id)).second);
  }
}

/// An earlier release writes only the secret in column a and its fingerprint.
BOOST_AUTO_TEST_CASE(another_secret_by_an_earlier_version_is_another_version) {
  reencrypt(session, newer_keys());
  const auto before = version(session, webhook.id);
  const auto stored = stored_secret(keys(), webhook.id, "dos");
  session.update(
      "UPDATE webhooks SET secreto_clave = ?, secreto_sellado = UNHEX(?), secreto_huella = ? WHERE id = ?",
      stored.key_id, stored.sealed, stored.fingerprint, webhook.id);
  BOOST_CHECK(version(session, webhook.id) != before);
}

/// The webhook was made by a release without fingerprints.
BOOST_AUTO_TEST_CASE(a_missing_fingerprint_is_made) {
  session.update("UPDATE webhooks SET secreto_huella = NULL");
  const auto unnamed = version(session, webhook.id);
  BOOST_CHECK_EQUAL(reencrypt(session, keys()).secrets, 1U);
  BOOST_CHECK_EQUAL(reencrypt(session, keys()).secrets, 0U);
  const auto before = audited();
  BOOST_CHECK(set("uno").result == SecretChanged::done);
  BOOST_CHECK_EQUAL(audited(), before);
  BOOST_CHECK_EQUAL(version(session, webhook.id), unnamed);
}

BOOST_AUTO_TEST_SUITE_END()
