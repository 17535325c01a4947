#include "dispatcher/fan_out/fan_out_report.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(fan_out_report)

namespace {

using dispatcher::Outcome;
using dispatcher::Outcomes;
using dispatcher::ReadyEntities;
using dispatcher::Selection;
using Kind = ReadyEntities::Kind;
using platform::Milliseconds;

const platform::MonotonicTime now{std::chrono::hours(1)};
constexpr delivery::EntityId entity = 7;

/// The selection asks for up to `limit` notifications of entity 7 that follow notification 100. The next turn
/// is for entity 8 and the notifications that follow 200.
struct Turns {
  ReadyEntities ready;
  Selection selection;

  explicit Turns(unsigned limit = 3) {
    ready.found({7, {100}, true});
    ready.advance(7, 100);
    ready.found({8, {200}, true});
    ready.advance(8, 200);
    selection.kind = Kind::ready;
    selection.requests = ready.next(1, Kind::ready, limit, now);
  }

  /// Reports a batch of notifications 101, 102 … of entity 7, with the outcomes `found`. `with_large`: some
  /// of them have data too large to be read with the row.
  void report(const std::vector<Outcome>& found, bool with_large = false) {
    Outcomes outcomes;
    for (const auto outcome : found) {
      const auto id = 101 + static_cast<std::int64_t>(outcomes.size());
      selection.rows.push_back({id, entity});
      outcomes.emplace(id, outcome);
    }
    std::set<delivery::EntityId> large;
    if (with_large) large.insert(entity);
    report_batch(selection, outcomes, large, now, ready);
  }

  /// The entities of a kind in their order, each with the notification after which it goes on.
  std::string next(Kind kind = Kind::ready, Milliseconds later = Milliseconds(0)) {
    std::string result;
    for (const auto& request : ready.next(9, kind, 5, now + later))
      result += to_string(request.entity) + ">" + to_string(request.after) + " ";
    return result;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_entity_with_as_many_as_asked_for_goes_on_behind_them) {
  Turns turns;
  turns.report({Outcome::written, Outcome::not_pending, Outcome::row_locked});
  BOOST_TEST(turns.next() == "8>200 7>103 ");
}

BOOST_AUTO_TEST_CASE(an_entity_with_fewer_than_asked_for_is_finished) {
  Turns turns;
  turns.report({Outcome::written, Outcome::written});
  BOOST_TEST(turns.next() == "8>200 ");
  Turns none;
  none.report({});
  BOOST_TEST(none.next() == "8>200 ");
}

BOOST_AUTO_TEST_CASE(the_next_round_begins_with_the_entity_for_which_there_was_no_slot) {
  Turns turns;
  turns.report({Outcome::written, Outcome::no_slot, Outcome::written});
  BOOST_TEST(turns.next() == "7>101 8>200 ");
}

BOOST_AUTO_TEST_CASE(a_busy_entity_goes_on_at_the_first_that_waits) {
  Turns turns;
  turns.report({Outcome::written, Outcome::busy, Outcome::busy});
  BOOST_TEST(turns.next() == "8>200 ");
  BOOST_TEST(turns.next(Kind::busy) == "7>101 ");
}

BOOST_AUTO_TEST_CASE(an_entity_with_a_lock_waits_for_a_moment) {
  for (const auto outcome : {Outcome::recipient_locked, Outcome::write_locked}) {
    Turns turns;
    turns.report({outcome, outcome});
    BOOST_TEST(turns.next() == "8>200 ");
    BOOST_TEST(turns.next(Kind::ready, Milliseconds(50)) == "7>100 8>200 ");
  }
}

BOOST_AUTO_TEST_CASE(a_refused_one_is_passed_and_its_entity_suspect) {
  Turns turns;
  turns.report({Outcome::written, Outcome::refused, Outcome::written});
  BOOST_TEST(turns.next() == "8>200 ");
  BOOST_TEST(turns.next(Kind::suspect) == "7>103 ");
  turns.ready.look_again();  // the next look does not begin with the refused notification
  BOOST_TEST(turns.next(Kind::suspect) == "7>103 ");
}

BOOST_AUTO_TEST_CASE(one_that_was_put_off_is_tried_again_alone) {
  Turns turns;
  turns.report({Outcome::put_off, Outcome::put_off});
  BOOST_TEST(turns.next(Kind::suspect) == "7>100 ");
}

BOOST_AUTO_TEST_CASE(rows_that_are_left_are_passed_and_not_read_at_each_look) {
  for (const auto outcome : {Outcome::left, Outcome::unmarked}) {
    Turns turns;
    turns.report({outcome, Outcome::written, Outcome::written});
    turns.ready.look_again();
    BOOST_TEST(turns.ready.next(9, Kind::ready, 5, now).back().after == 103);
  }
}

BOOST_AUTO_TEST_CASE(an_entity_is_large_until_a_batch_has_none_of_its_large_data) {
  Turns turns;
  turns.report({Outcome::written, Outcome::no_room}, true);
  BOOST_TEST(turns.next(Kind::large) == "7>101 ");
  turns.selection = {.rows = {}, .kind = Kind::large, .requests = {{entity, 101, 1}}};
  turns.report({Outcome::written}, true);
  BOOST_TEST(!turns.next(Kind::large).empty());
  turns.selection.rows.clear();
  turns.report({Outcome::written}, false);
  BOOST_TEST(turns.next(Kind::large).empty());
}

BOOST_AUTO_TEST_SUITE_END()
