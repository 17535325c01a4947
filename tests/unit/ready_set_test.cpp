#include "schedule/ready_set.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

BOOST_AUTO_TEST_SUITE(ready)

namespace {

using dispatcher::ReadyEntities;
using dispatcher::ReadyWebhooks;
using Pick = ReadyEntities::Pick;
using platform::Milliseconds;
using platform::MonotonicTime;
using platform::UtcTime;

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

constexpr Milliseconds past{-1};  // due already

using Ids = std::vector<std::int64_t>;

std::string text(const std::vector<store::IdRange>& ranges) {
  std::string result;
  for (const auto& [first, last] : ranges) {
    result += (first == lowest ? "-" : std::to_string(first)) + ".." +
              (last == highest ? "+" : std::to_string(last)) + " ";
  }
  return result;
}

Ids due(const ReadyWebhooks& ready, MonotonicTime at = now) {
  Ids result;
  for (const auto& webhook : ready.due(at)) result.push_back(webhook.webhook);
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

BOOST_AUTO_TEST_CASE(so_is_a_webhook_with_deliveries_left_to_a_newer_version) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime(Milliseconds(10)), past}, now);
  ready.left_some(1);
  ready.advance(1, {UtcTime(Milliseconds(20)), 4});
  ready.look_again();
  BOOST_TEST((ready.due(now).front().after.due == UtcTime(Milliseconds(20))));
  ready.finished(1);
  ready.found({1, UtcTime(Milliseconds(10)), past}, now);
  BOOST_TEST(ready.due(now).empty());
  ready.waits(1, now);  // something new
  BOOST_TEST((ready.due(now).front().after.due == UtcTime(Milliseconds(20))));
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

BOOST_AUTO_TEST_CASE(webhooks_are_due_in_turn_from_their_time_on) {
  ReadyWebhooks ready;
  for (const delivery::WebhookId id : {1, 2, 3}) ready.found({id, UtcTime(Milliseconds(id * 10)), past}, now);
  ready.found({4, UtcTime{}, Milliseconds(4)}, now);
  BOOST_TEST((due(ready) == Ids{1, 2, 3}));
  ready.turn_ended(1);
  BOOST_TEST((due(ready) == Ids{2, 3, 1}));
  BOOST_TEST((due(ready, now + Milliseconds(5)) == Ids{2, 3, 4, 1}));
  BOOST_TEST((ready.due(now).front().after.due == UtcTime(Milliseconds(19))));
  ready.advance(2, {UtcTime(Milliseconds(50)), 4});
  BOOST_TEST((ready.due(now).front().after.due == UtcTime(Milliseconds(50))));
  ready.finished(2);
  BOOST_TEST((due(ready) == Ids{3, 1}));
  BOOST_TEST(text(ready.ranges(now)) == "-..0 2..2 4..4 5..+ ");
  ready.waits(2, now);
  BOOST_TEST((ready.due(now).front().after.due == UtcTime(Milliseconds(50))));
  ready.look_again();
  BOOST_TEST((ready.due(now).front().after.due == UtcTime{}));
}

// One with a retry tomorrow gets something new: what is due today must not be sought from tomorrow on.
BOOST_AUTO_TEST_CASE(what_comes_before_the_first_one_found_is_not_skipped) {
  constexpr Milliseconds day{86'400'000};
  const UtcTime seen(Milliseconds(1'000'000));
  ReadyWebhooks ready;
  ready.found({1, seen + day, day}, now);
  ready.waits(1, now + Milliseconds(1));
  BOOST_REQUIRE(due(ready, now + Milliseconds(1)).size() == 1U);
  BOOST_TEST((ready.due(now + Milliseconds(1)).front().after.due <= seen));
}

BOOST_AUTO_TEST_CASE(the_first_of_several_deliveries_decides_when_a_webhook_is_due) {
  ReadyWebhooks ready;
  ready.waits(1, now + Milliseconds(9));
  ready.waits(1, now + Milliseconds(5));
  ready.waits(1, now + Milliseconds(7));
  BOOST_TEST(due(ready, now + Milliseconds(4)).empty());
  BOOST_TEST(due(ready, now + Milliseconds(5)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_postponed_webhook_is_not_due_whatever_is_found) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime{}, past}, now);
  ready.postpone(1, now + Milliseconds(10));
  ready.found({1, UtcTime{}, past}, now);
  ready.waits(1, now);
  BOOST_TEST(due(ready).empty());
  BOOST_TEST(due(ready, now + Milliseconds(10)).size() == 1U);
}

// One with a retry in an hour may get something new at any moment: it is searched again.
BOOST_AUTO_TEST_CASE(one_that_is_quarantined_comes_back_only_if_something_is_found) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime{}, past}, now);
  ready.quarantine(1, now + Milliseconds(10));
  BOOST_TEST(due(ready, now + Milliseconds(20)).empty());
  ready.found({1, UtcTime{}, past}, now);
  BOOST_TEST(due(ready).empty());
  BOOST_TEST(due(ready, now + Milliseconds(10)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(only_webhooks_that_are_due_or_postponed_are_not_searched) {
  ReadyWebhooks ready;
  ready.found({5, UtcTime{}, past}, now);
  ready.found({7, UtcTime{}, Milliseconds(0)}, now);
  BOOST_TEST(text(ready.ranges(now)) == "-..4 6..7 8..+ ");
  BOOST_TEST(text(ready.ranges(now + Milliseconds(1))) == "-..4 6..6 8..+ ");
  ready.postpone(7, now + Milliseconds(10));
  BOOST_TEST(text(ready.ranges(now)) == "-..4 6..6 8..+ ");
}

BOOST_AUTO_TEST_SUITE_END()
