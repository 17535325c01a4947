#include "dispatcher/fan_out/fan_out_report.hpp"

#include <boost/test/unit_test.hpp>

#include "dispatcher/fan_out/passed_over.hpp"

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

BOOST_AUTO_TEST_CASE(a_refused_one_is_passed_and_its_entity_suspect_until_a_batch_has_none) {
  Turns turns;
  turns.report({Outcome::written, Outcome::refused, Outcome::written});
  BOOST_TEST(turns.next() == "8>200 ");
  BOOST_TEST(turns.next(Kind::suspect) == "7>103 ");
  turns.ready.look_again();  // the next look does not begin with the refused notification
  BOOST_TEST(turns.next(Kind::suspect) == "7>103 ");
  turns.selection = {.rows = {}, .kind = Kind::suspect, .requests = {{entity, 103, 1}}};
  turns.report({Outcome::written});
  BOOST_TEST(turns.next(Kind::suspect).empty());
}

BOOST_AUTO_TEST_CASE(one_that_was_put_off_is_tried_again_alone) {
  Turns turns;
  turns.report({Outcome::put_off, Outcome::put_off});
  BOOST_TEST(turns.next(Kind::suspect) == "7>100 ");
}

BOOST_AUTO_TEST_CASE(rows_that_are_passed_over_do_not_make_a_look_begin_at_the_first) {
  for (const auto outcome : {Outcome::for_newer, Outcome::row_locked}) {
    Turns turns;
    turns.report({outcome, Outcome::written, Outcome::written});
    turns.ready.look_again();
    BOOST_TEST(turns.ready.next(9, Kind::ready, 5, now).back().after == 103);
  }
}

/// Whether the first notification, 101, is looked at within 5 s: it is due in the list of those passed over,
/// or its entity is read from it on, or from the entity's first one after a look.
bool is_looked_at(Turns& turns, const dispatcher::PassedOver& passed_over) {
  const auto later = now + std::chrono::seconds(5);
  for (const auto& row : passed_over.due(later, 9)) {
    if (row.id == 101) return true;
  }
  for (const auto kind : {Kind::ready, Kind::busy, Kind::suspect, Kind::large, Kind::wrong}) {
    for (const auto& request : turns.ready.next(9, kind, 5, later)) {
      if (request.entity == entity && request.after < 101) return true;
    }
  }
  return false;
}

BOOST_AUTO_TEST_CASE(whatever_the_outcome_a_notification_is_settled_or_looked_at_within_5_s) {
  for (int value = 0; value <= static_cast<int>(Outcome::put_off); ++value) {
    const auto first = static_cast<Outcome>(value);
    const bool settled = first < Outcome::for_newer;
    for (int other = 0; other <= static_cast<int>(Outcome::put_off); ++other) {
      BOOST_TEST_CONTEXT("outcomes " << value << " and " << other) {
        Turns turns;
        dispatcher::PassedOver passed_over;
        passed_over.note({101, entity}, first, now);
        turns.report({first, static_cast<Outcome>(other)});
        BOOST_TEST((settled || is_looked_at(turns, passed_over)));
        // Without room in the list it is found after the next look, once its entity has been read to its end.
        if (settled || waits(first) || waits(static_cast<Outcome>(other))) continue;
        turns.ready.finished(entity);
        turns.ready.look_again();
        BOOST_TEST(turns.ready.found({entity, {101}, false}));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_entity_is_wrong_while_all_of_a_batch_are_rejected) {
  Turns turns;
  turns.report({Outcome::rejected, Outcome::rejected, Outcome::rejected});
  BOOST_TEST(turns.next() == "8>200 ");
  BOOST_TEST(turns.next(Kind::wrong) == "7>103 ");
  turns.selection = {.rows = {}, .kind = Kind::wrong, .requests = {{entity, 103, 2}}};
  turns.report({Outcome::rejected, Outcome::written});
  BOOST_TEST(turns.next(Kind::wrong).empty());
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
