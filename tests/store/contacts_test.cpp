// The contacts of entities: five at most, confirmed by a code that is mailed, few mails, and an end of
// the notices by the link of a mail.
#include "lib/store/contacts/contacts.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/contacts/codes.hpp"
#include "lib/store/contacts/confirmation.hpp"
#include "tests/store/maintenance_support.hpp"
#include "tests/store/quota_support.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;
using contacts::Kind;
using contacts::KindSet;
using Confirmed = Confirmation::Result;

namespace {

KindSet only(Kind kind) {
  KindSet kinds;
  kinds.insert(kind);
  return kinds;
}

std::vector<WantedContact> wanted(const std::vector<std::string>& names) {
  std::vector<WantedContact> result;
  for (const auto& name : names) result.push_back({name + "@ejemplo.es", KindSet::all()});
  return result;
}

struct Fixture : MaintenanceFixture {
  Fixture() {
    add_entity(session, 1, "Uno");
    add_entity(session, 2, "Dos");
  }
  std::vector<Contact> put(const std::vector<std::string>& names, const ContactPolicy& policy = {}) {
    return replace_contacts(session, {1}, wanted(names), policy);
  }
  Contact first() { return list_contacts(session, 1).at(0); }
  std::string code() {
    const auto contact = first();
    return contacts::confirmation_code(keys(), {contact.id, contact.address, contact.code_issued.value()});
  }
  std::string wrong_code() { return code() == "000000" ? "000001" : "000000"; }
  Confirmation confirm(const std::string& code, EntityId entity = 1) {
    return confirm_contact(session, {entity}, 1, code, keys());
  }
  static contacts::UnsubscribeLink link_of(const Contact& contact) {
    const auto now = platform::utc_now();
    const auto token =
        contacts::unsubscribe_token(keys(), contact.id, contact.address, now + std::chrono::minutes(1));
    return contacts::read_unsubscribe_token(keys(), token, now).value();
  }
  std::vector<std::string> details() {
    std::vector<std::string> result;
    for (const auto& entry : list_audit(session, {}, "contactos")) result.push_back(entry.detail);
    return result;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(contacts_store, Fixture)

BOOST_AUTO_TEST_CASE(a_kept_address_keeps_its_number_and_confirmation) {
  put({"a", "b", "c"});
  BOOST_CHECK(confirm(code()).result == Confirmed::done);
  const auto before = list_contacts(session, 1);
  auto next = wanted({"d", "c", "a"});
  next[2].kinds = only(Kind::token);
  const auto after = replace_contacts(session, {1}, next, {});
  BOOST_REQUIRE_EQUAL(after.size(), 3U);
  BOOST_CHECK_EQUAL(after[0].id, before[0].id);
  BOOST_CHECK(after[0].confirmed.has_value());
  BOOST_CHECK(after[0].kinds == only(Kind::token));
  BOOST_CHECK_EQUAL(after[1].address, "d@ejemplo.es");
  BOOST_CHECK_EQUAL(after[1].number, 2);
  BOOST_CHECK(after[1].code_ends.has_value());
  BOOST_CHECK_EQUAL(after[2].id, before[2].id);
  BOOST_CHECK(
      details().back() ==
      R"j({"alta":["d…@ejemplo.es (2)"],"avisos":["a…@ejemplo.es (1)"],"baja":["b…@ejemplo.es (2)"]})j");
}

BOOST_AUTO_TEST_CASE(the_same_set_again_changes_and_counts_nothing) {
  put({"a", "b"});
  const ContactPolicy strict{1, 1};
  const auto before = first();
  for (int i = 0; i < 5; ++i) put({"b", "a"}, strict);
  BOOST_CHECK(first().code_issued == before.code_issued);
  BOOST_CHECK_EQUAL(details().size(), 1U);
}

BOOST_AUTO_TEST_CASE(an_id_is_never_given_again) {
  const auto id = put({"a"}).at(0).id;
  put({});
  BOOST_CHECK_EQUAL(count("contactos"), 0);
  BOOST_CHECK(put({"a"}).at(0).id != id);
}

// Each removal and addition would mail a stranger another code.
BOOST_AUTO_TEST_CASE(codes_are_counted_however_they_are_asked_for) {
  const ContactPolicy policy{0, 5};
  put({"a"}, policy);
  BOOST_CHECK(ask_contact_code(session, {1}, 1, 5) == CodeAsked::done);
  put({}, policy);
  put({"a", "b"}, policy);
  put({"a"}, policy);
  put({"a", "b"}, policy);
  BOOST_CHECK_EQUAL(codes_left(session, 1, 5).left, 0U);
  const auto of_codes = is_of(Quota::contact_codes);
  BOOST_CHECK_EXCEPTION(put({"a", "b", "c"}, policy), OverQuota, of_codes);
  BOOST_CHECK_EXCEPTION(ask_contact_code(session, {1}, 1, 5), OverQuota, of_codes);
  BOOST_CHECK_EQUAL(list_contacts(session, 1).size(), 2U);
  BOOST_CHECK_EQUAL(put({"b"}, policy).size(), 1U);
  BOOST_CHECK_EQUAL(replace_contacts(session, {2}, wanted({"a"}), policy).size(), 1U);
}

BOOST_AUTO_TEST_CASE(no_day_has_more_codes_than_its_limit) {
  const ContactPolicy policy{0, 2};
  const auto of_codes = is_of(Quota::contact_codes);
  BOOST_CHECK_EXCEPTION(put({"a", "b", "c"}, policy), OverQuota, of_codes);
  put({"a"}, policy);
  session.execute("UPDATE codigos_pedidos SET pedido_en = pedido_en - INTERVAL 86390 SECOND");
  put({"a", "b"}, policy);
  BOOST_CHECK_EXCEPTION(put({"a", "b", "c"}, policy), OverQuota, of_codes);
  BOOST_CHECK_LE(codes_left(session, 1, 2).retry_after_s, 10U);
  session.execute("UPDATE codigos_pedidos SET pedido_en = pedido_en - INTERVAL 11 SECOND");
  BOOST_CHECK_EQUAL(codes_left(session, 1, 2).left, 1U);
  BOOST_CHECK_EQUAL(put({"a", "b", "c"}, policy).size(), 3U);
  BOOST_CHECK_EXCEPTION(put({"a", "b", "c", "d"}, policy), OverQuota, of_codes);
  BOOST_CHECK_EQUAL(count("codigos_pedidos"), 2);
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_ahead_costs_no_code) {
  put({"a"}, {0, 1});
  session.execute("UPDATE codigos_pedidos SET pedido_en = pedido_en + INTERVAL 1 YEAR");
  BOOST_CHECK_EQUAL(codes_left(session, 1, 1).left, 1U);
  BOOST_CHECK(ask_contact_code(session, {1}, 1, 1) == CodeAsked::done);
}

BOOST_AUTO_TEST_CASE(an_address_gets_few_codes_of_one_entity_and_of_all) {
  const auto of_address = is_of(Quota::codes_to_address);
  for (int i = 0; i < 3; ++i) {
    put({i == 1 ? "A" : "a"});
    put({});
  }
  BOOST_CHECK_EXCEPTION(put({"b", "a"}), OverQuota, of_address);
  BOOST_CHECK(list_contacts(session, 1).empty());
  BOOST_CHECK_EQUAL(count("codigos_pedidos"), 3);
  add_entity(session, 3, "Tres");
  for (const EntityId entity : {2, 2, 3}) {
    replace_contacts(session, {entity}, wanted({"a"}), {});
    replace_contacts(session, {entity}, {}, {});
  }
  BOOST_CHECK_EXCEPTION(replace_contacts(session, {3}, wanted({"a"}), {}), OverQuota, of_address);
  session.execute("UPDATE codigos_pedidos SET pedido_en = pedido_en - INTERVAL 86401 SECOND WHERE plaza = 2");
  BOOST_CHECK_EQUAL(replace_contacts(session, {3}, wanted({"a"}), {}).size(), 1U);
  BOOST_CHECK_EQUAL(put({"b"}).size(), 1U);
}

BOOST_AUTO_TEST_CASE(an_address_gets_six_codes_under_any_concurrency) {
  for (int i = 10; i < 20; ++i) add_entity(session, i, "E");
  std::atomic<int> added = 0;
  run_at_once(10, [&](int i) {
    Session mine = database.connect();
    despite_lock_timeouts([&] {
      try {
        replace_contacts(mine, {10 + i}, wanted({"a"}), {});
        ++added;
      } catch (const OverQuota&) {  // what the test counts
      }
    });
  });
  BOOST_CHECK_EQUAL(added.load(), 6);
  BOOST_CHECK_EQUAL(count("codigos_pedidos"), 6);
}

BOOST_AUTO_TEST_CASE(changes_are_counted_with_those_of_webhooks) {
  const ContactPolicy policy{2, 0};
  put({"a"}, policy);
  put({}, policy);
  BOOST_CHECK_EXCEPTION(put({"b"}, policy), OverQuota, is_of(Quota::changes));
  BOOST_CHECK(list_contacts(session, 1).empty());
}

BOOST_AUTO_TEST_CASE(without_a_mail_server_no_code_is_asked_for_or_counted) {
  const auto contact = put({"a"}, {0, 1, false}).at(0);
  BOOST_CHECK(!contact.code_issued && !contact.code_ends);
  BOOST_CHECK(confirm("000000").result == Confirmed::no_code);
  BOOST_CHECK(ask_contact_code(session, {1}, 1, 1) == CodeAsked::done);
}

BOOST_AUTO_TEST_CASE(a_code_has_five_tries) {
  put({"a"});
  const auto right = code();
  for (std::int64_t left = 5; left-- > 0;) {
    const auto tried = confirm(wrong_code());
    BOOST_CHECK(tried.result == Confirmed::wrong);
    BOOST_CHECK_EQUAL(tried.tries_left, left);
  }
  BOOST_CHECK(confirm(right).result == Confirmed::no_code);
  BOOST_CHECK(ask_contact_code(session, {1}, 1, 0) == CodeAsked::done);
  BOOST_CHECK(confirm(code()).result == Confirmed::done);
  BOOST_CHECK(confirm("000000").result == Confirmed::done);
  BOOST_CHECK(ask_contact_code(session, {1}, 1, 0) == CodeAsked::confirmed);
}

BOOST_AUTO_TEST_CASE(tries_at_once_are_counted_one_by_one) {
  put({"a"});
  const auto wrong = wrong_code();
  std::atomic<int> tried = 0;
  run_at_once(8, [&](int) {
    Session mine = database.connect();
    if (confirm_contact(mine, {1}, 1, wrong, keys()).result == Confirmed::wrong) ++tried;
  });
  BOOST_CHECK_EQUAL(tried.load(), 5);
}

BOOST_AUTO_TEST_CASE(a_code_lives_a_day) {
  put({"a"});
  session.execute("UPDATE contactos SET codigo_emitido = codigo_emitido - INTERVAL 86395 SECOND");
  BOOST_CHECK(confirm(wrong_code()).result == Confirmed::wrong);
  session.execute("UPDATE contactos SET codigo_emitido = codigo_emitido - INTERVAL 5 SECOND");
  BOOST_CHECK(confirm(code()).result == Confirmed::no_code);
}

BOOST_AUTO_TEST_CASE(an_entity_confirms_only_its_own) {
  put({"a"});
  BOOST_CHECK(confirm(code(), 2).result == Confirmed::not_found);
  BOOST_CHECK(ask_contact_code(session, {2}, 1, 0) == CodeAsked::not_found);
  BOOST_CHECK(!first().confirmed);
}

BOOST_AUTO_TEST_CASE(a_link_ends_the_notices_once_and_is_audited_without_a_token) {
  put({"a", "b"});
  const auto link = link_of(first());
  BOOST_CHECK(unsubscribe(session, link, keys()));
  BOOST_CHECK(!unsubscribe(session, link, keys()));
  BOOST_CHECK(!unsubscribe(session, {link.contact.number() + 1000, link.mark}, keys()));
  BOOST_CHECK(first().kinds.empty());
  BOOST_CHECK(list_contacts(session, 1).at(1).kinds == KindSet::all());
  const auto entry = list_audit(session, {}, "contactos").back();
  BOOST_CHECK_EQUAL(entry.detail, R"j({"sinAvisos":"a…@ejemplo.es (1)"})j");
  BOOST_CHECK(!entry.token && entry.entity == EntityId(1));
}

// As after a restore of a backup, which gives ids again.
BOOST_AUTO_TEST_CASE(a_link_ends_nothing_for_another_address_of_its_id) {
  put({"a"});
  const auto link = link_of(first());
  session.execute("UPDATE contactos SET correo = 'b@ejemplo.es'");
  BOOST_CHECK(!unsubscribe(session, link, keys()));
  BOOST_CHECK(first().kinds == KindSet::all());
}

// A program that repeats its list, or a page that read it before the click, must not undo the click.
BOOST_AUTO_TEST_CASE(a_list_alone_does_not_undo_the_link) {
  put({"a", "b"});
  confirm(code());
  unsubscribe(session, link_of(first()), keys());
  const std::vector<WantedContact> unsaid{{"a@ejemplo.es", {}}, {"b@ejemplo.es", {}}};
  BOOST_CHECK(replace_contacts(session, {1}, unsaid, {}).at(0).kinds.empty());
  BOOST_CHECK(list_contacts(session, 1).at(1).kinds == KindSet::all());
  put({"a", "b"});
  BOOST_CHECK(first().kinds == KindSet::all());
  BOOST_CHECK(!first().confirmed && !first().code_ends);
  BOOST_CHECK(confirm("000000").result == Confirmed::no_code);
  ask_contact_code(session, {1}, 1, 0);
  const auto asked = code();
  BOOST_CHECK(unsubscribe(session, link_of(first()), keys()));
  BOOST_CHECK(confirm(asked).result == Confirmed::no_code);
}

BOOST_AUTO_TEST_CASE(a_right_code_ends_a_refusal_and_no_other_does) {
  put({"a"});
  mark_refused(session, first().id, "550");
  BOOST_CHECK(confirm(code()).result == Confirmed::done);
  BOOST_CHECK(first().confirmed && !first().refused);
  mark_refused(session, first().id, "550");
  BOOST_CHECK(confirm("000000").result == Confirmed::no_code);
  BOOST_CHECK(first().refused.has_value());
}

BOOST_AUTO_TEST_CASE(a_refused_address_must_be_confirmed_again) {
  put({"a"});
  confirm(code());
  mark_refused(session, first().id, "550 5.1.1 unknown\r\nuser " + std::string(1000, 'x'));
  mark_refused(session, first().id, "554 later");
  const auto listed = list_all_contacts(session).at(0);
  BOOST_CHECK(listed.contact.refused.has_value());
  BOOST_CHECK(listed.refusal.value().starts_with("550 5.1.1 unknown\\x0d\\x0auser x"));
  BOOST_CHECK(ask_contact_code(session, {1}, 1, 0) == CodeAsked::done);
  BOOST_CHECK(!first().refused && !first().confirmed);
  BOOST_CHECK(confirm(code()).result == Confirmed::done);
}

BOOST_AUTO_TEST_CASE(the_operator_vouches_for_an_address) {
  const WantedContact one{"a@ejemplo.es", only(Kind::failing)};
  BOOST_CHECK(add_contact(session, 3, one) == ContactAdded::no_entity);
  BOOST_CHECK(add_contact(session, 1, one) == ContactAdded::added);
  BOOST_CHECK(first().confirmed.has_value() && first().kinds == *one.kinds);
  mark_refused(session, first().id, "550");
  BOOST_CHECK(add_contact(session, 1, {one.address, KindSet::all()}) == ContactAdded::changed);
  BOOST_CHECK(!first().refused && first().kinds == KindSet::all());
  put({"a", "b", "c", "d", "e"});
  BOOST_CHECK(add_contact(session, 1, {"f@ejemplo.es", {}}) == ContactAdded::full);
  BOOST_CHECK(remove_contact(session, 1, "a@ejemplo.es"));
  BOOST_CHECK(!remove_contact(session, 1, "a@ejemplo.es"));
  BOOST_CHECK_EQUAL(list_all_contacts(session).size(), 4U);
}

BOOST_AUTO_TEST_CASE(an_entity_has_five_contacts_under_any_concurrency) {
  run_at_once(8, [&](int i) {
    Session mine = database.connect();
    despite_lock_timeouts([&] {
      return add_contact(mine, 1, {std::to_string(i) + "@ejemplo.es", KindSet::all()});
    });
  });
  BOOST_CHECK_EQUAL(list_contacts(session, 1).size(), 5U);
  BOOST_CHECK_THROW(session.execute("INSERT INTO contactos (entidad_id, plaza, correo, avisos)"
                                    " VALUES (1, 6, 'x@ejemplo.es', '')"),
                    DatabaseError);
  BOOST_CHECK_THROW(session.execute("INSERT INTO contactos (entidad_id, plaza, correo, avisos)"
                                    " VALUES (2, 1, 'x@ejemplo.es', ''), (2, 2, 'x@ejemplo.es', '')"),
                    DatabaseError);
}

BOOST_AUTO_TEST_CASE(nothing_reads_the_contacts_of_other_entities) {
  const auto many = numbers(5000);
  session.execute("INSERT INTO entidades (id, nombre) SELECT 100 + seq, 'E' FROM " + many);
  session.execute(
      "INSERT INTO contactos (entidad_id, plaza, correo, avisos, codigo_emitido)"
      " SELECT 100 + seq, 1, 'a@ejemplo.es', 'token', UTC_TIMESTAMP(3) FROM " +
      many);
  session.query("ANALYZE TABLE contactos");
  const auto before = rows_read(session);
  put({"a", "b"});
  put({"b", "c"});
  confirm_contact(session, {1}, 2, "000000", keys());
  ask_contact_code(session, {1}, 2, 0);
  mark_refused(session, first().id, "550");
  unsubscribe(session, link_of(first()), keys());
  remove_contact(session, 1, "b@ejemplo.es");
  BOOST_CHECK_EQUAL(list_all_contacts(session, EntityId(1)).size(), 1U);
  BOOST_CHECK_LT(rows_read(session) - before, 500);
}

BOOST_AUTO_TEST_CASE(the_audit_shows_little_of_an_address) {
  BOOST_CHECK_EQUAL(audited_contact(2, "maria.perez@ejemplo.es"), "m…@ejemplo.es (2)");
  BOOST_CHECK_LT(audited_contact(1, "m@" + std::string(250, 'x')).size(), 80U);
}

BOOST_AUTO_TEST_SUITE_END()
