#include "dispatcher/schedule/ready_entities.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/range_text.hpp"

BOOST_AUTO_TEST_SUITE(ready_entities)

namespace {

using dispatcher::ReadyEntities;
using Kind = ReadyEntities::Kind;
using platform::Milliseconds;
using platform::MonotonicTime;
using Ids = std::vector<delivery::EntityId>;
using Line = std::vector<delivery::NotificationId>;

const MonotonicTime now{std::chrono::hours(1)};

/// Each entity may have many pending notifications with ids above 100. None is in
/// ReadyEntities::line(), so each entity's notifications are read at its turn, round robin.
ReadyEntities with_many(std::initializer_list<delivery::EntityId> ids) {
  ReadyEntities ready;
  for (const auto id : ids) {
    ready.found({id, {100}, true});
    ready.advance(id, 100);
  }
  return ready;
}

Ids next(ReadyEntities& ready, unsigned limit, Kind kind = Kind::ready, MonotonicTime at = now) {
  Ids result;
  for (const auto& request : ready.next(limit, kind, 1, at)) result.push_back(request.entity);
  return result;
}

Line line(const ReadyEntities& ready, std::size_t limit = 99, bool others_lead = false,
          std::size_t most_quick = 99, std::size_t most_others = 99) {
  Line result;
  for (const auto& notification : ready.line(limit, others_lead, most_quick, most_others))
    result.push_back(notification.id);
  return result;
}

delivery::NotificationId position(ReadyEntities& ready) {
  return ready.next(1, Kind::ready, 5, now).at(0).after;
}

}  // namespace

BOOST_AUTO_TEST_CASE(notifications_of_many_entities_are_in_line_in_the_order_of_their_ids) {
  ReadyEntities ready;
  for (const int id : {5, 3, 4}) BOOST_TEST(ready.arrived({100 - id, id}));
  BOOST_TEST((line(ready) == Line{95, 96, 97}));
  BOOST_TEST((line(ready, 2) == Line{95, 96}));
  BOOST_TEST(next(ready, 9).empty());
  ready.advance(5, 95);
  BOOST_TEST((line(ready) == Line{96, 97}));
}

BOOST_AUTO_TEST_CASE(notifications_of_quick_entities_have_half_of_the_line) {
  ReadyEntities ready(0, [](delivery::EntityId entity) { return entity >= 100; });
  for (const int id : {1, 2, 3, 4}) ready.arrived({id, id});
  for (const int id : {101, 102, 103}) ready.arrived({id, id});
  BOOST_TEST((line(ready, 4) == Line{101, 102, 1, 2}));
  BOOST_TEST((line(ready, 4, true) == Line{1, 2, 101, 102}));
  BOOST_TEST((line(ready, 1, true) == Line{1}));
  BOOST_TEST((line(ready, 6) == Line{101, 102, 103, 1, 2, 3}));
  BOOST_TEST((line(ready, 6, false, 9, 1) == Line{101, 102, 103, 1}));
  BOOST_TEST((line(ready, 6, true, 9, 0) == Line{101, 102, 103}));
  BOOST_TEST((line(ready, 6, false, 1, 9) == Line{101, 1, 2, 3, 4}));
  for (const int id : {101, 102, 103}) ready.advance(id, id);
  BOOST_TEST((line(ready) == Line{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(an_entity_without_work_is_forgotten) {
  ReadyEntities ready;
  for (int id = 1; id <= 1000; ++id) ready.arrived({id, id});
  for (int id = 1; id <= 1000; ++id) ready.advance(id, id);
  BOOST_TEST(ready.known() == 0U);
  ready.found({7, {100, 101}, true});
  ready.advance(7, 101);
  ready.finished(7);
  BOOST_TEST(ready.known() == 0U);
  BOOST_TEST(text(ready.ranges()) == "-..+ ");
}

BOOST_AUTO_TEST_CASE(an_entity_with_many_has_its_share_of_the_line_and_then_takes_turns) {
  ReadyEntities ready;
  for (int id = 1; id <= 10; ++id) ready.arrived({id, 7});
  ready.arrived({11, 8});
  BOOST_TEST((line(ready) == Line{1, 2, 3, 4, 11}));
  BOOST_TEST(next(ready, 9).empty());  // entity 7 has no turn while it has notifications in line
  ready.advance(7, 3);
  BOOST_TEST(next(ready, 9).empty());
  ready.advance(7, 4);
  BOOST_TEST((next(ready, 9) == Ids{7}));
  BOOST_TEST(position(ready) == 4);
  BOOST_TEST(!ready.arrived({12, 7}));  // notification 12 comes after the others of entity 7
  BOOST_TEST((line(ready) == Line{11}));
}

BOOST_AUTO_TEST_CASE(what_a_search_finds_is_in_line_too) {
  ReadyEntities ready;
  BOOST_TEST(ready.found({7, {100, 105}, false}));
  BOOST_TEST(!ready.found({7, {100, 105}, false}));
  BOOST_TEST((line(ready) == Line{100, 105}));
  ready.found({8, {1, 2, 3, 4, 5}, false});
  ready.advance(8, 4);
  BOOST_TEST((next(ready, 9) == Ids{8}));
  BOOST_TEST(position(ready) == 4);
}

// An entity's first attempts start in the order of the notifications' ids.
BOOST_AUTO_TEST_CASE(an_id_that_is_committed_late_goes_before_those_of_its_entity_in_line) {
  ReadyEntities ready;
  for (const delivery::NotificationId id : {105, 106}) ready.arrived({id, 7});
  ready.arrived({103, 8});
  BOOST_TEST(text(ready.ranges()) == "-..6 9..+ ");
  ready.look_again();
  BOOST_TEST(text(ready.ranges()) == "-..7 8..8 9..+ ");  // entities in line are searched again
  BOOST_TEST(!ready.found({8, {103}, false}));
  BOOST_TEST(ready.found({7, {100, 105, 106}, false}));
  BOOST_TEST((line(ready) == Line{103}));
  BOOST_TEST(text(ready.ranges()) == "-..6 9..+ ");
  BOOST_TEST(position(ready) == 99);
  BOOST_TEST((next(ready, 9) == Ids{7}));
}

BOOST_AUTO_TEST_CASE(newer_notifications_stay_out_of_line_after_a_miss) {
  ReadyEntities ready;
  ready.arrived({10, 7});
  ready.missed_some();
  BOOST_TEST(!ready.arrived({30, 7}));
  BOOST_TEST((line(ready) == Line{10}));
  ready.advance(7, 10);
  BOOST_TEST(position(ready) == 10);
}

BOOST_AUTO_TEST_CASE(an_entity_that_appears_begins_at_the_beginning) {
  ReadyEntities ready;
  BOOST_TEST(ready.appeared(7));
  BOOST_TEST(!ready.appeared(7));
  BOOST_TEST(position(ready) == lowest);
  ready.arrived({5, 8});
  BOOST_TEST(!ready.appeared(8));
  ready.advance(8, 5);
  BOOST_TEST((next(ready, 9) == Ids{8, 7}));
}

BOOST_AUTO_TEST_CASE(entities_take_turns) {
  auto ready = with_many({1, 2, 3, 4});
  BOOST_TEST((next(ready, 3) == Ids{1, 2, 3}));
  BOOST_TEST((next(ready, 3) == Ids{4, 1, 2}));
  BOOST_TEST((next(ready, 9) == Ids{3, 4, 1, 2}));  // each entity once
  ready.finished(2);
  BOOST_TEST((next(ready, 9) == Ids{3, 4, 1}));
  ready.resume_at(Kind::ready, 3);
  BOOST_TEST((next(ready, 1) == Ids{3}));
}

BOOST_AUTO_TEST_CASE(an_entity_goes_on_after_what_is_done_until_a_look_begins_at_the_start) {
  auto ready = with_many({7});
  BOOST_TEST(position(ready) == 100);
  ready.advance(7, 150);
  ready.found({7, {100}, true});  // the entity is known already
  BOOST_TEST(position(ready) == 150);
  ready.look_again();
  BOOST_TEST(position(ready) == lowest);
}

BOOST_AUTO_TEST_CASE(a_busy_entity_leaves_the_line_and_waits_until_it_is_cleared) {
  auto ready = with_many({1, 2});
  ready.found({3, {50, 51}, false});
  ready.mark(1, Kind::busy, true);
  ready.mark(3, Kind::busy, true);
  BOOST_TEST(line(ready).empty());
  BOOST_TEST((next(ready, 9) == Ids{2}));
  BOOST_TEST((next(ready, 9, Kind::busy) == Ids{1, 3}));
  ready.mark(1, Kind::busy, false);
  ready.mark(3, Kind::busy, false);
  BOOST_TEST((next(ready, 9, Kind::busy).empty()));
  BOOST_TEST(next(ready, 9).size() == 3U);
  ready.mark(77, Kind::busy, false);  // unknown: nothing happens
  ready.resume_at(Kind::ready, 3);
  BOOST_TEST(position(ready) == 49);
}

BOOST_AUTO_TEST_CASE(one_that_is_postponed_waits_until_then_and_no_longer) {
  auto ready = with_many({1, 2});
  ready.found({3, {50}, false});
  ready.postpone(1, now + Milliseconds(50));
  ready.postpone(3, now + Milliseconds(60));
  BOOST_TEST((next(ready, 9) == Ids{2}));
  BOOST_TEST(line(ready).empty());
  BOOST_TEST((next(ready, 9, Kind::ready, now + Milliseconds(50)) == Ids{1, 2}));
  BOOST_TEST(ready.count(Kind::ready, now + Milliseconds(60)) == 3U);
}

BOOST_AUTO_TEST_CASE(entities_with_large_data_take_separate_turns_one_at_a_time) {
  auto ready = with_many({8});
  ready.found({7, {1, 2, 3}, false});
  ready.mark(7, Kind::large, true);
  BOOST_TEST(line(ready).empty());
  BOOST_TEST((next(ready, 9) == Ids{8}));
  BOOST_TEST(ready.next(9, Kind::large, 5, now).at(0).entity == 7);
  BOOST_TEST(ready.next(9, Kind::large, 5, now).at(0).limit == 1U);
  ready.mark(7, Kind::large, false);
  BOOST_TEST(ready.count(Kind::large, now) == 0U);
  BOOST_TEST(ready.next(9, Kind::ready, 5, now).at(0).limit == 5U);
}

// A suspect: an entity of which the database refused, or may refuse, a notification.

BOOST_AUTO_TEST_CASE(a_suspect_is_taken_alone_until_it_is_none_any_more) {
  ReadyEntities ready;
  ready.found({7, {1, 2, 3}, false});
  ready.mark(7, Kind::suspect, true);
  BOOST_TEST(line(ready).empty());
  BOOST_TEST(next(ready, 9).empty());
  ready.arrived({9, 7});
  BOOST_TEST(line(ready).empty());
  BOOST_TEST((next(ready, 9, Kind::suspect) == Ids{7}));
  ready.mark(7, Kind::suspect, false);
  BOOST_TEST(next(ready, 9, Kind::suspect).empty());
  BOOST_TEST((next(ready, 9) == Ids{7}));
}

BOOST_AUTO_TEST_CASE(an_entity_of_which_nothing_waits_is_no_suspect) {
  ReadyEntities ready;
  ready.found({7, {1}, false});
  ready.note_passed_over(7);
  ready.advance(7, 1);
  ready.mark(7, Kind::suspect, true);
  ready.arrived({9, 7});
  BOOST_TEST((line(ready) == Line{9}));
  ready.appeared(7);
  ready.advance(7, 9);
  BOOST_TEST((next(ready, 9) == Ids{7}));
}

// Rows that are passed over: reads go on behind them to the entity's last row. Then nothing is read before
// the next look.

BOOST_AUTO_TEST_CASE(a_look_does_not_end_reads_that_pass_rows_over) {
  auto ready = with_many({7});
  ready.note_passed_over(7);
  ready.advance(7, 150);
  ready.look_again();
  ready.look_again();
  BOOST_TEST(position(ready) == 150);
}

BOOST_AUTO_TEST_CASE(an_entity_with_rows_that_were_passed_over_is_read_again_after_the_next_look) {
  auto ready = with_many({7});
  ready.note_passed_over(7);
  ready.advance(7, 150);
  ready.finished(7);
  BOOST_TEST(!ready.found({7, {100}, false}));
  BOOST_TEST(next(ready, 9).empty());
  BOOST_TEST(text(ready.ranges()) == "-..6 8..+ ");
  ready.appeared(7);  // a new notification
  BOOST_TEST(position(ready) == 150);
  ready.finished(7);
  ready.look_again();
  BOOST_TEST(ready.known() == 0U);
  BOOST_TEST(ready.found({7, {100}, false}));
}

// Wrong: entities of which notifications can only be rejected, as far as is known.

BOOST_AUTO_TEST_CASE(an_entity_that_does_not_exist_takes_no_place_in_line_and_no_turn_of_others) {
  ReadyEntities ready;
  BOOST_TEST(ready.arrived({1, 7}));
  BOOST_TEST(ready.found({8, {2}, false}));
  ready.appeared(9);
  for (const auto id : {7, 8, 9}) ready.mark(id, Kind::wrong, true);
  ready.arrived({4, 5});
  BOOST_TEST((line(ready, 9) == Line{4}));
  BOOST_TEST(next(ready, 9).empty());
  BOOST_TEST((next(ready, 9, Kind::wrong) == Ids{7, 8, 9}));
}

BOOST_AUTO_TEST_CASE(an_entity_is_wrong_until_a_batch_is_better) {
  auto ready = with_many({7});
  ready.mark(7, Kind::wrong, true);
  BOOST_TEST((next(ready, 9, Kind::wrong) == Ids{7}));
  ready.mark(7, Kind::wrong, false);
  BOOST_TEST((next(ready, 9) == Ids{7}));
  ready.mark(7, Kind::wrong, true);
  ready.finished(7);
  ready.arrived({500, 7});
  BOOST_TEST((line(ready, 9) == Line{500}));
}

BOOST_AUTO_TEST_CASE(the_first_of_several_marks_decides) {
  auto ready = with_many({7});
  for (const auto kind : {Kind::large, Kind::wrong, Kind::busy, Kind::suspect}) {
    ready.mark(7, kind, true);
    BOOST_TEST((next(ready, 9, kind) == Ids{7}));
  }
  for (const auto kind : {Kind::suspect, Kind::busy, Kind::wrong, Kind::large}) {
    BOOST_TEST((next(ready, 9, kind) == Ids{7}));
    ready.mark(7, kind, false);
  }
  BOOST_TEST((next(ready, 9) == Ids{7}));
}

BOOST_AUTO_TEST_CASE(each_kind_has_a_turn_of_its_own) {
  auto ready = with_many({1, 2, 9});
  ready.mark(9, Kind::busy, true);
  BOOST_TEST((next(ready, 1) == Ids{1}));
  BOOST_TEST((next(ready, 1, Kind::busy) == Ids{9}));
  BOOST_TEST((next(ready, 1) == Ids{2}));
  ready.resume_at(Kind::ready, 2);
  BOOST_TEST((next(ready, 1) == Ids{2}));
}

// The line is bounded, and a call costs no more when more entities are known.

BOOST_AUTO_TEST_CASE(there_is_room_until_the_line_is_long) {
  ReadyEntities ready;
  std::int64_t id = 0;
  while (ready.has_room()) ready.arrived({++id, id});
  BOOST_TEST(ready.line(1'000'000).size() == ReadyEntities::longest_line);
  BOOST_TEST(!ready.runs_short());
}

BOOST_AUTO_TEST_CASE(the_search_has_room_of_its_own_when_what_arrives_has_none) {
  ReadyEntities ready;
  std::int64_t id = 1;
  while (ready.has_room()) ready.arrived({++id, id});
  BOOST_TEST(ready.has_room_for_search());
  BOOST_TEST(ready.found({1, {1}, false}));
  BOOST_TEST((line(ready, 2) == Line{1, 2}));
  while (ready.has_room_for_search()) ready.found({++id, {id}, false});
  BOOST_TEST(ready.line(1'000'000).size() == 2 * ReadyEntities::longest_line);
}

BOOST_AUTO_TEST_CASE(the_last_of_several_postponements_counts) {
  auto ready = with_many({7, 8});
  ready.postpone(7, now + Milliseconds(50));
  ready.postpone(7, now + Milliseconds(100));
  ready.postpone(8, now + Milliseconds(50));
  BOOST_TEST((next(ready, 9, Kind::ready, now + Milliseconds(50)) == Ids{8}));
  BOOST_TEST((next(ready, 9, Kind::ready, now + Milliseconds(100)) == Ids{7, 8}));
  ready.postpone(7, now + Milliseconds(150));
  ready.postpone(7, now + Milliseconds(200));
  ready.finished(7);
  BOOST_TEST((next(ready, 9, Kind::ready, now + Milliseconds(200)) == Ids{8}));
}

BOOST_AUTO_TEST_CASE(a_turn_costs_what_it_takes_however_many_are_known) {
  for (const std::int64_t known : {1, 10'000, 200'000}) {
    ReadyEntities ready;
    for (std::int64_t id = 1; id <= known; ++id) ready.appeared(id);
    for (std::int64_t id = 1; id <= known; ++id) {  // each waits, and must not be taken yet
      if (id % 2 == 0) {
        ready.mark(id, Kind::busy, true);
      } else {
        ready.postpone(id, now + Milliseconds(50));
      }
    }
    ready.appeared(known + 1);
    ready.arrived({1, known + 2});
    const auto before = ready.visits();
    BOOST_TEST((next(ready, 9) == Ids{known + 1}));
    BOOST_TEST(line(ready).size() == 1U);
    ready.advance(known + 1, 5);
    ready.mark(2, Kind::busy, false);
    ready.look_again();
    BOOST_TEST(ready.visits() - before <= 4U);
  }
}

BOOST_AUTO_TEST_CASE(a_search_costs_what_waits_however_many_have_been_known) {
  for (const std::int64_t known : {1, 10'000, 200'000}) {
    ReadyEntities ready;
    for (std::int64_t id = 1; id <= known; ++id) {
      ready.appeared(id);
      ready.finished(id);
    }
    ready.appeared(5);
    const auto before = ready.visits();
    BOOST_TEST(text(ready.ranges()) == "-..4 6..+ ");
    BOOST_TEST(ready.visits() - before <= 1U);
  }
}

BOOST_AUTO_TEST_CASE(the_ranges_are_what_is_not_known) {
  BOOST_TEST(text(ReadyEntities().ranges()) == "-..+ ");
  BOOST_TEST(text(with_many({5, 6, 9}).ranges()) == "-..4 7..8 10..+ ");
  BOOST_TEST(text(with_many({lowest, highest}).ranges()) ==
             std::to_string(lowest + 1) + ".." + std::to_string(highest - 1) + " ");
}

BOOST_AUTO_TEST_CASE(the_widest_ranges_are_halved_until_there_are_enough) {
  const auto halved = [](std::vector<store::IdRange> ranges, std::size_t count) {
    dispatcher::halve_widest(ranges, count);
    return text(ranges);
  };
  BOOST_TEST(halved({}, 4).empty());
  BOOST_TEST(halved({{1, 8}}, 1) == "1..8 ");
  BOOST_TEST(halved({{1, 8}, {20, 21}}, 4) == "1..2 20..21 5..8 3..4 ");
  BOOST_TEST(halved({{1, 3}}, 9) == "1..1 3..3 2..2 ");
  BOOST_TEST(halved({{lowest, highest}}, 2) == "-..-1 0..+ ");
}

BOOST_AUTO_TEST_SUITE_END()
