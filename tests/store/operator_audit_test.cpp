// The audit of the operator's actions, transactions within transactions, and sessions that only read.
#include "lib/store/audit/audit.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/store/entities/entities.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;

BOOST_AUTO_TEST_SUITE(operator_audit)

BOOST_AUTO_TEST_CASE(an_action_has_its_operator_and_the_entity_of_its_webhook) {
  Database database;
  const auto webhook = add_webhook(database.session, 7);
  note_operator_action(database.session, {"ana uid=0 host=db1", "queue pause", "queue", {}, {}, "{}"});
  note_operator_action(database.session,
                       {"ana uid=0 host=db1", "webhook disable", "webhook 1", {}, webhook.id, "{}"});
  const auto entries = list_audit(database.session, {});
  BOOST_REQUIRE_EQUAL(entries.size(), 3U);  // the registration and two actions
  BOOST_TEST((!entries[0].operator_name && !entries[0].object && entries[0].entity == 7));
  BOOST_TEST((!entries[1].entity && entries[1].object == "queue" &&
              entries[1].operator_name == "ana uid=0 host=db1"));
  BOOST_TEST((entries[2].entity == 7 && entries[2].webhook == webhook.id));
}

BOOST_AUTO_TEST_CASE(a_transaction_within_another_is_a_part_of_it) {
  Database database;
  auto& session = database.session;
  BOOST_CHECK_THROW(transaction(session,
                                [&] {
                                  transaction(session, [&] { add_entity(session, 7, "Una"); });
                                  throw std::runtime_error("afterwards");
                                }),
                    std::runtime_error);
  BOOST_TEST(list_entities(session).empty());
  transaction(session, [&] { add_entity(session, 7, "Una"); });
  BOOST_TEST(list_entities(session).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_session_that_reads_changes_nothing) {
  Database database;
  add_entity(database.session, 7, "Una");
  Session reader(server(database.name), {.program_user = "root", .read_only = true});
  BOOST_TEST(list_entities(reader).size() == 1U);
  BOOST_CHECK_THROW(set_entity_active(reader, 7, false), DatabaseError);
  BOOST_TEST(list_entities(database.session).at(0).active);
}

BOOST_AUTO_TEST_SUITE_END()
