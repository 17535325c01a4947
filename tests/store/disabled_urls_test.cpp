// A URL that the operator has disabled stays disabled for the webhook's entity, even if the entity deletes
// the webhook or changes its URL.
#include "lib/store/webhooks/disabled_urls.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/store/webhooks/changes.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;

BOOST_AUTO_TEST_SUITE(disabled_urls)

namespace {

ListFilter of_webhook(WebhookId id) {
  ListFilter filter;
  filter.webhook = id;
  return filter;
}

struct Disabled {
  Database database;
  Session& session = database.session;
  Webhook webhook = add_webhook(session, 1);
  Disabled() { BOOST_REQUIRE(disable_webhook(session, webhook.id, disabled_by_operator)); }

  Webhook register_again(std::string url, EntityId entity = 1) {
    return create_webhook(session, {entity, std::move(url), webhook.events, {}}, keys()).webhook.value();
  }
  WebhookChanged change(WebhookId id, const WebhookChange& what) {
    return change_webhook(session, {1}, id, what, [](const WebhookDetail&) { return true; }).result;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_registration_of_a_disabled_url_is_inactive_in_any_spelling, Disabled) {
  BOOST_REQUIRE(delete_webhook(session, {1}, webhook.id));
  for (const auto* url : {"https://receptor.example.org/ruta", "https://RECEPTOR.example.org:443/%72uta"}) {
    const auto again = register_again(url);
    BOOST_TEST(!again.active);
    BOOST_TEST((again.inactive_reason == disabled_by_operator));
    BOOST_TEST((find_webhook(session, again.id)->inactive_reason == disabled_by_operator));
    BOOST_TEST(
        (list_audit(session, of_webhook(again.id)).at(0).detail.find("operador") != std::string::npos));
    BOOST_TEST(list_disabled_urls(session, {}).size() == 1U);
    BOOST_REQUIRE(delete_webhook(session, {1}, again.id));
  }
  BOOST_TEST(register_again("https://receptor.example.org/otra").active);
  add_entity(session, 2, "Otra");
  BOOST_TEST(register_again(webhook.url, 2).active);
}

BOOST_FIXTURE_TEST_CASE(no_other_webhook_is_changed_to_a_disabled_url, Disabled) {
  const auto other = register_again("https://otro.example.org/");
  BOOST_TEST(
      (change(other.id, {.url = "https://receptor.example.org./ruta"}) == WebhookChanged::url_disabled));
  BOOST_TEST((change(other.id, {.url = webhook.url, .active = false}) == WebhookChanged::url_disabled));
  BOOST_TEST(find_webhook(session, other.id)->url == other.url);
  BOOST_TEST((change(webhook.id, {.url = "https://tercero.example.org/"}) == WebhookChanged::done));
  BOOST_TEST((find_webhook(session, webhook.id)->inactive_reason == disabled_by_operator));
  BOOST_TEST(!register_again(webhook.url).active);
}

BOOST_AUTO_TEST_CASE(an_active_webhook_keeps_a_disabled_url_until_deactivated) {
  Database database;
  const auto webhook = add_webhook(database.session, 1);
  const auto beside = add_webhook(database.session, 1);
  disable_webhook(database.session, webhook.id, disabled_by_operator);
  const auto change = [&](const WebhookChange& what) {
    return change_webhook(database.session, {1}, beside.id, what, [](const WebhookDetail&) { return true; })
        .result;
  };
  BOOST_TEST(
      (change({.url = "https://receptor.example.org/%72uta", .active = true}) == WebhookChanged::done));
  BOOST_TEST((change({.active = false}) == WebhookChanged::done));
  BOOST_TEST((change({.active = true}) == WebhookChanged::url_disabled));
}

BOOST_FIXTURE_TEST_CASE(the_operator_lifts_a_disabled_url_with_or_without_its_webhook, Disabled) {
  BOOST_TEST(lift_disabled_url(session, 2, webhook.url) == 0U);
  BOOST_TEST(enable_webhook(session, webhook.id, false).has_value());
  BOOST_TEST(list_disabled_urls(session, {}).empty());
  BOOST_TEST(register_again(webhook.url).active);

  disable_webhook(session, webhook.id, disabled_by_operator);
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_REQUIRE(delete_webhook(session, {1}, webhook.id));
  BOOST_TEST(list_disabled_urls(session, {}).at(0).webhook == webhook.id);
  BOOST_TEST(lift_disabled_url(session, 1, "https://receptor.example.org:443/ruta") == 1U);
  BOOST_TEST(register_again(webhook.url).active);
}

BOOST_FIXTURE_TEST_CASE(a_url_that_the_entity_leaves_during_the_enabling_stays_disabled, Disabled) {
  Session of_operator = database.connect();
  BOOST_REQUIRE(of_operator.query("SELECT 1").size() == 1U);  // connects
  int calls = 0;
  of_operator.before_statements([&] {
    if (++calls == 3)
      change(webhook.id, {.url = "https://tercero.example.org/"});  // the webhook has been read
  });
  BOOST_TEST(enable_webhook(of_operator, webhook.id, false).has_value());
  BOOST_TEST(find_webhook(session, webhook.id)->active);
  BOOST_TEST(list_disabled_urls(session, {}).at(0).url == webhook.url);
}

BOOST_FIXTURE_TEST_CASE(enabling_a_moved_webhook_leaves_its_former_url_disabled, Disabled) {
  change(webhook.id, {.url = "https://tercero.example.org/"});
  BOOST_TEST(enable_webhook(session, webhook.id, false).has_value());
  BOOST_TEST(list_disabled_urls(session, of_webhook(webhook.id)).at(0).url == webhook.url);
  BOOST_TEST(!register_again(webhook.url).active);
}

BOOST_AUTO_TEST_CASE(automatic_deactivations_disable_no_url) {
  Database database;
  for (const auto reason : {disabled_by_gone, disabled_by_failures})
    disable_webhook(database.session, add_webhook(database.session, 1).id, reason);
  BOOST_TEST(list_disabled_urls(database.session, {}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
