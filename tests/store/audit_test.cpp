// Actions repeated within an hour of the clock share one row of the audit, which counts them.
#include "lib/store/audit/audit.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/store/entities/entities.hpp"
#include "lib/store/entities/tokens.hpp"
#include "tests/store/database.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;
using enum AuditedAction;

namespace {

struct Fixture {
  Database database;
  Session& session = database.session;

  static void note(Session& session, const Author& author, AuditedAction action, WebhookId webhook,
                   std::string_view detail, std::optional<std::string_view> what = {}) {
    transaction(session, [&] { note_change(session, author, action, webhook, detail, what); });
  }
  std::vector<AuditEntry> all(const std::optional<std::string>& action = {}) {
    ListFilter filter;
    filter.limit = 1000;
    return list_audit(session, filter, action);
  }
  std::int64_t times() {
    std::int64_t sum = 0;
    for (const auto& entry : all()) sum += entry.times;
    return sum;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(audit, Fixture)

BOOST_AUTO_TEST_CASE(repeated_actions_share_a_row_with_count_and_last_time) {
  for (int i = 0; i < 100; ++i) {
    note(session, {1, 7}, replayed, 3, R"({"reenvio":)" + std::to_string(i) + "}", "range");
    note(session, {1, 7}, replayed, 3, R"({"reenvio":1,"cancelado":true})", "cancelled");
  }
  const auto entries = all();
  BOOST_TEST(entries.size() <= 4U);  // 2, or 4 if an hour of the clock ended during the loop
  BOOST_CHECK_EQUAL(times(), 200);
  BOOST_CHECK_EQUAL(entries.front().detail, R"({"reenvio":0})");
  BOOST_CHECK(entries.front().last >= entries.front().at);
  BOOST_TEST(session.query("SELECT 1 FROM auditoria WHERE veces > 1 AND ultima_en IS NULL").empty());
}

BOOST_AUTO_TEST_CASE(an_entity_sees_its_own_entries_without_the_operators) {
  add_entity(session, 1, "e");
  issue_token(session, {.entity = 1, .hash = crypto::sha256("t"), .label = "consola"});
  const TokenId token = session.query("SELECT id FROM tokens_acceso").at(0).integer("id");
  note(session, {1, token}, changed, 3, "{}");
  note(session, {2, token}, changed, 3, "{}");
  for (int i = 0; i < 3; ++i)
    note_operator_action(session, {"op", "entity disable", "entity 1", 1, {}, "{}"});
  note(session, {1}, deleted, 4, "{}");
  std::vector<std::string> seen;
  std::optional<AuditId> before;
  std::size_t pages = 0;
  do {
    const auto page = read_audit_page(session, 1, 2, before);
    for (const auto& entry : page.entries)
      seen.push_back(entry.action + ' ' + entry.token.value_or("-") + ' ' + to_string(entry.webhook.value()));
    before = page.next;
    ++pages;
  } while (before && pages < 9);
  BOOST_CHECK_EQUAL(pages, 3U);
  const std::vector<std::string> expected{"baja - 4", "cambio consola 3"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(entries_of_another_author_action_or_webhook_stay_separate) {
  note(session, {1, 7}, changed, 3, R"({"activo":{"antes":true,"ahora":false}})");
  note(session, {1, 7}, changed, 3, R"({"activo":{"antes":false,"ahora":true}})");
  note(session, {1, 8}, changed, 3, R"({"activo":{"antes":true,"ahora":false}})");
  note(session, {1}, changed, 3, R"({"activo":{"antes":true,"ahora":false}})");
  note(session, {2, 7}, changed, 3, R"({"activo":{"antes":true,"ahora":false}})");
  note(session, {1, 7}, changed, 4, R"({"activo":{"antes":true,"ahora":false}})");
  note(session, {1, 7}, secret_changed, 3, R"({"activo":{"antes":true,"ahora":false}})");
  BOOST_CHECK(all().size() == 7U && times() == 7);
  BOOST_CHECK_EQUAL(all("secreto").size(), 1U);
  BOOST_CHECK_EQUAL(all("cambio").size(), 6U);
}

BOOST_AUTO_TEST_CASE(another_hour_has_a_row_of_its_own) {
  note(session, {1, 7}, replayed, 3, "{}");
  session.execute("SET timestamp = UNIX_TIMESTAMP() + 3600");
  note(session, {1, 7}, replayed, 3, "{}");
  session.execute("SET timestamp = DEFAULT");
  BOOST_CHECK(all().size() == 2U && times() == 2);
}

BOOST_AUTO_TEST_CASE(a_list_since_a_time_includes_a_repeated_entry) {
  note(session, {1, 7}, replayed, 3, "{}");
  session.execute(
      "UPDATE auditoria SET ocurrida_en = ocurrida_en - INTERVAL 50 MINUTE, ultima_en = UTC_TIMESTAMP(3)");
  ListFilter filter;
  filter.since = platform::utc_now() - std::chrono::minutes(20);
  BOOST_TEST(list_audit(session, filter).size() == 1U);
  session.execute("UPDATE auditoria SET ultima_en = NULL");
  BOOST_TEST(list_audit(session, filter).empty());
}

BOOST_AUTO_TEST_CASE(entities_that_change_webhooks_count_for_an_hour_whatever_the_clock_did_before) {
  note(session, {1, 1}, changed, 1, "{}");
  note(session, {2, 2}, changed, 2, "{}");
  BOOST_TEST(count_changing_entities(session) == 2);
  session.execute("UPDATE auditoria SET ocurrida_en = ocurrida_en - INTERVAL 61 MINUTE WHERE entidad_id = 1");
  BOOST_TEST(count_changing_entities(session) == 1);
  // As if the entries had been written while the database's clock was ten days ahead.
  session.execute("UPDATE auditoria SET ocurrida_en = ocurrida_en + INTERVAL 10 DAY");
  BOOST_TEST(count_changing_entities(session) == 0);
}

BOOST_AUTO_TEST_CASE(an_entity_counts_for_an_hour_after_its_last_equal_change) {
  note(session, {1, 1}, changed, 1, "{}");
  session.execute(
      "UPDATE auditoria SET ocurrida_en = ocurrida_en - INTERVAL 61 MINUTE, ultima_en = UTC_TIMESTAMP(3)");
  BOOST_TEST(count_changing_entities(session) == 1);
}

BOOST_AUTO_TEST_CASE(sessions_at_once_lose_no_count) {
  run_at_once(8, [&](int) {
    Session own = database.connect();
    for (int n = 0; n < 25; ++n)
      despite_lock_timeouts([&] { note(own, {1, 7}, replayed, 3, "{}", "range"); });
  });
  BOOST_CHECK_EQUAL(times(), 200);
  BOOST_TEST(all().size() <= 2U);
}

BOOST_AUTO_TEST_SUITE_END()
