#include "schedule/ready_set.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

BOOST_AUTO_TEST_SUITE(ready)

namespace {

using dispatcher::ReadyEntities;
using Pick = ReadyEntities::Pick;
using platform::Milliseconds;
using platform::MonotonicTime;

const MonotonicTime now{std::chrono::hours(1)};
constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto highest = std::numeric_limits<std::int64_t>::max();

ReadyEntities with_entities(std::initializer_list<delivery::EntityId> ids) {
  ReadyEntities ready;
  for (const auto id : ids) ready.found({id, 100});
  return ready;
}

std::vector<delivery::EntityId> next(ReadyEntities& ready, unsigned limit, Pick pick = Pick::ready,
                                     MonotonicTime at = now) {
  std::vector<delivery::EntityId> result;
  for (const auto& request : ready.next(pick, limit, 1, at)) result.push_back(request.entity);
  return result;
}

using Ids = std::vector<std::int64_t>;

std::string text(const std::vector<store::IdRange>& ranges) {
  std::string result;
  for (const auto& [first, last] : ranges) {
    result += (first == lowest ? "-" : std::to_string(first)) + ".." +
              (last == highest ? "+" : std::to_string(last)) + " ";
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(entities_take_turns) {
  auto ready = with_entities({1, 2, 3, 4});
  BOOST_TEST((next(ready, 3) == Ids{1, 2, 3}));
  BOOST_TEST((next(ready, 3) == Ids{4, 1, 2}));
  BOOST_TEST((next(ready, 9) == Ids{3, 4, 1, 2}));  // each once
  ready.finished(2);
  BOOST_TEST((next(ready, 9) == Ids{3, 4, 1}));
}

BOOST_AUTO_TEST_CASE(an_entity_begins_at_its_oldest_and_goes_on_after_what_is_done) {
  auto ready = with_entities({7});
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 99);
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().limit == 5U);
  ready.advance(7, 150);
  ready.found({7, 100});  // it is known already
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 150);
  ready.look_again();
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == lowest);
}

// Else every look would walk again past what is done, which an old snapshot keeps in the index.
BOOST_AUTO_TEST_CASE(where_an_entity_got_to_is_remembered_when_nothing_of_it_waits) {
  auto ready = with_entities({7});
  ready.advance(7, 150);
  ready.finished(7);
  BOOST_TEST(next(ready, 9).empty());
  BOOST_TEST(text(ready.ranges()) == "-..7 8..+ ");
  ready.appeared(7);
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 150);
  ready.finished(7);
  ready.found({7, 120});  // committed late
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 119);
}

// What is new of it may not be its oldest.
BOOST_AUTO_TEST_CASE(an_unknown_entity_that_appears_begins_at_the_beginning) {
  ReadyEntities ready;
  ready.appeared(7);
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == lowest);
}

BOOST_AUTO_TEST_CASE(a_busy_entity_waits_until_it_is_cleared) {
  auto ready = with_entities({1, 2});
  ready.mark_busy(1);
  BOOST_TEST((next(ready, 9) == Ids{2}));
  BOOST_TEST((next(ready, 9, Pick::busy) == Ids{1}));
  ready.clear_busy(1);
  BOOST_TEST((next(ready, 9, Pick::busy).empty()));
  BOOST_TEST(next(ready, 9).size() == 2U);
  ready.clear_busy(77);  // unknown: nothing happens
  BOOST_TEST(next(ready, 9).size() == 2U);
}

BOOST_AUTO_TEST_CASE(one_that_failed_waits_longer_each_time) {
  auto ready = with_entities({1, 2, 3});
  ready.failed(2, now);
  BOOST_TEST((next(ready, 9) == Ids{1, 3}));
  const auto later = now + Milliseconds(5000);
  BOOST_TEST((next(ready, 9, Pick::ready, later) == Ids{1, 2, 3}));
  ready.failed(2, later);
  BOOST_TEST((next(ready, 9, Pick::ready, later + Milliseconds(9999)) == Ids{1, 3}));
  BOOST_TEST((next(ready, 9, Pick::ready, later + Milliseconds(10000)) == Ids{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(one_that_is_postponed_waits_until_then_and_no_longer) {
  auto ready = with_entities({1, 2});
  ready.postpone(1, now + Milliseconds(50));
  BOOST_TEST((next(ready, 9) == Ids{2}));
  BOOST_TEST((next(ready, 9, Pick::ready, now + Milliseconds(50)) == Ids{1, 2}));
}

// However many they are: a look must not take the walk past them back to its start.
BOOST_AUTO_TEST_CASE(rows_left_to_a_newer_version_are_passed_over_in_one_go) {
  auto ready = with_entities({7});
  ready.left_some(7);
  ready.advance(7, 150);
  ready.look_again();
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 150);
}

// They are found at every look: an entity that has nothing else to do must not be taken up for them each
// time.
BOOST_AUTO_TEST_CASE(an_entity_with_rows_left_to_a_newer_version_is_looked_at_again_after_a_while) {
  auto ready = with_entities({7});
  ready.left_some(7);
  ready.advance(7, 150);
  ready.finished(7);
  ready.found({7, 100});
  BOOST_TEST(next(ready, 9).empty());
  BOOST_TEST(text(ready.ranges()) == "-..6 8..+ ");
  ready.appeared(7);  // something new
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 150);
  ready.finished(7);
  for (int i = 0; i < 6; ++i) ready.look_again();
  ready.found({7, 100});
  BOOST_TEST(ready.next(Pick::ready, 1, 5, now).front().after == 99);
}

BOOST_AUTO_TEST_CASE(each_pick_has_a_turn_of_its_own) {
  auto ready = with_entities({1, 2, 9});
  ready.mark_busy(9);
  BOOST_TEST((next(ready, 1) == Ids{1}));
  BOOST_TEST((next(ready, 1, Pick::busy) == Ids{9}));
  BOOST_TEST((next(ready, 1) == Ids{2}));
  ready.resume_at(2);
  BOOST_TEST((next(ready, 1) == Ids{2}));
}

// However many are known, a search that finds nothing is one statement.
BOOST_AUTO_TEST_CASE(those_that_do_not_wait_end_a_few_ranges_only) {
  ReadyEntities ready;
  for (delivery::EntityId id = 1; id <= 10'000; ++id) {
    ready.found({id, 1});
    ready.finished(id);
  }
  BOOST_TEST(ready.ranges().size() <= store::ranges_per_search);
  BOOST_TEST(ready.ranges().size() >= store::ranges_per_search / 2);
  BOOST_TEST(ready.ranges().front().first == lowest);
  BOOST_TEST(ready.ranges().back().last == highest);
}

BOOST_AUTO_TEST_CASE(the_ranges_are_what_is_not_known) {
  BOOST_TEST(text(ReadyEntities().ranges()) == "-..+ ");
  BOOST_TEST(text(with_entities({5, 6, 9}).ranges()) == "-..4 7..8 10..+ ");
  BOOST_TEST(text(with_entities({lowest, highest}).ranges()) ==
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
