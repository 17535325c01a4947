#include "agenda.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

BOOST_AUTO_TEST_SUITE(agenda)

namespace {

using dispatcher::EntityAgenda;
using dispatcher::WebhookAgenda;
using Pick = EntityAgenda::Pick;
using platform::Milliseconds;
using platform::MonotonicTime;
using platform::UtcTime;

const MonotonicTime now{std::chrono::hours(1)};
constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto highest = std::numeric_limits<std::int64_t>::max();

EntityAgenda with_entities(std::initializer_list<store::EntityId> ids) {
  EntityAgenda agenda;
  for (const auto id : ids) agenda.found({id, 100});
  return agenda;
}

std::vector<store::EntityId> next(EntityAgenda& agenda, unsigned limit, Pick pick = Pick::ready,
                                  MonotonicTime at = now) {
  std::vector<store::EntityId> result;
  for (const auto& request : agenda.next(pick, limit, 1, at)) result.push_back(request.entity);
  return result;
}

constexpr Milliseconds past{-1};  // due already

using Ids = std::vector<std::int64_t>;

std::string text(const std::vector<store::Gap>& gaps) {
  std::string result;
  for (const auto& [first, last] : gaps) {
    result += (first == lowest ? "-" : std::to_string(first)) + ".." +
              (last == highest ? "+" : std::to_string(last)) + " ";
  }
  return result;
}

Ids due(const WebhookAgenda& agenda, MonotonicTime at = now) {
  Ids result;
  for (const auto& webhook : agenda.due(at)) result.push_back(webhook.webhook);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(entities_take_turns) {
  auto agenda = with_entities({1, 2, 3, 4});
  BOOST_TEST((next(agenda, 3) == Ids{1, 2, 3}));
  BOOST_TEST((next(agenda, 3) == Ids{4, 1, 2}));
  BOOST_TEST((next(agenda, 9) == Ids{3, 4, 1, 2}));  // each once
  agenda.finished(2);
  BOOST_TEST((next(agenda, 9) == Ids{3, 4, 1}));
}

BOOST_AUTO_TEST_CASE(an_entity_begins_at_its_oldest_and_goes_on_after_what_is_done) {
  auto agenda = with_entities({7});
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().after == 99);
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().limit == 5U);
  agenda.advance(7, 150);
  agenda.found({7, 100});  // it is known already
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().after == 150);
  agenda.look_again();
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().after == lowest);
}

// Else every look would walk again past what is done, which an old snapshot keeps in the index.
BOOST_AUTO_TEST_CASE(where_an_entity_got_to_is_remembered_when_nothing_of_it_waits) {
  auto agenda = with_entities({7});
  agenda.advance(7, 150);
  agenda.finished(7);
  BOOST_TEST(next(agenda, 9).empty());
  BOOST_TEST(text(agenda.gaps()) == "-..7 8..+ ");
  agenda.appeared(7);
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().after == 150);
  agenda.finished(7);
  agenda.found({7, 120});  // committed late
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().after == 119);
}

// What is new of it may not be its oldest.
BOOST_AUTO_TEST_CASE(an_unknown_entity_that_appears_begins_at_the_beginning) {
  EntityAgenda agenda;
  agenda.appeared(7);
  BOOST_TEST(agenda.next(Pick::ready, 1, 5, now).front().after == lowest);
}

BOOST_AUTO_TEST_CASE(a_crowded_entity_waits_until_it_is_relieved) {
  auto agenda = with_entities({1, 2});
  agenda.crowd(1);
  BOOST_TEST((next(agenda, 9) == Ids{2}));
  BOOST_TEST((next(agenda, 9, Pick::crowded) == Ids{1}));
  agenda.relieve(1);
  BOOST_TEST((next(agenda, 9, Pick::crowded).empty()));
  BOOST_TEST(next(agenda, 9).size() == 2U);
  agenda.relieve(77);  // unknown: nothing happens
  BOOST_TEST(next(agenda, 9).size() == 2U);
}

BOOST_AUTO_TEST_CASE(one_that_failed_waits_longer_each_time_and_comes_alone) {
  auto agenda = with_entities({1, 2, 3});
  agenda.failed(2, now);
  BOOST_TEST((next(agenda, 9) == Ids{1, 3}));
  const auto later = now + Milliseconds(5000);
  BOOST_TEST((next(agenda, 9, Pick::ready, later) == Ids{1}));
  BOOST_TEST((next(agenda, 9, Pick::ready, later) == Ids{2}));
  BOOST_TEST((next(agenda, 9, Pick::ready, later) == Ids{3, 1}));
  agenda.failed(2, later);
  BOOST_TEST((next(agenda, 9, Pick::ready, later + Milliseconds(9999)) == Ids{3, 1}));
  BOOST_TEST((next(agenda, 9, Pick::ready, later + Milliseconds(10000)) == Ids{2}));
  agenda.advance(2, 101);
  BOOST_TEST(next(agenda, 9, Pick::ready, later + Milliseconds(10000)).size() == 3U);
}

BOOST_AUTO_TEST_CASE(each_pick_has_a_turn_of_its_own) {
  auto agenda = with_entities({1, 2, 9});
  agenda.crowd(9);
  BOOST_TEST((next(agenda, 1) == Ids{1}));
  BOOST_TEST((next(agenda, 1, Pick::crowded) == Ids{9}));
  BOOST_TEST((next(agenda, 1) == Ids{2}));
  agenda.resume_at(2);
  BOOST_TEST((next(agenda, 1) == Ids{2}));
}

// However many are known, a search that finds nothing is one statement.
BOOST_AUTO_TEST_CASE(those_that_do_not_wait_end_a_few_gaps_only) {
  EntityAgenda agenda;
  for (store::EntityId id = 1; id <= 10'000; ++id) {
    agenda.found({id, 1});
    agenda.finished(id);
  }
  BOOST_TEST(agenda.gaps().size() <= store::gaps_per_search);
  BOOST_TEST(agenda.gaps().size() >= store::gaps_per_search / 2);
  BOOST_TEST(agenda.gaps().front().first == lowest);
  BOOST_TEST(agenda.gaps().back().last == highest);
}

BOOST_AUTO_TEST_CASE(the_gaps_are_what_is_not_known) {
  BOOST_TEST(text(EntityAgenda().gaps()) == "-..+ ");
  BOOST_TEST(text(with_entities({5, 6, 9}).gaps()) == "-..4 7..8 10..+ ");
  BOOST_TEST(text(with_entities({lowest, highest}).gaps()) ==
             std::to_string(lowest + 1) + ".." + std::to_string(highest - 1) + " ");
}

BOOST_AUTO_TEST_CASE(the_widest_gaps_are_halved_until_there_are_enough) {
  const auto halved = [](std::vector<store::Gap> gaps, std::size_t count) {
    dispatcher::halve_widest(gaps, count);
    return text(gaps);
  };
  BOOST_TEST(halved({}, 4).empty());
  BOOST_TEST(halved({{1, 8}}, 1) == "1..8 ");
  BOOST_TEST(halved({{1, 8}, {20, 21}}, 4) == "1..2 20..21 5..8 3..4 ");
  BOOST_TEST(halved({{1, 3}}, 9) == "1..1 3..3 2..2 ");
  BOOST_TEST(halved({{lowest, highest}}, 2) == "-..-1 0..+ ");
}

BOOST_AUTO_TEST_CASE(webhooks_are_due_in_turn_from_their_time_on) {
  WebhookAgenda agenda;
  for (const store::WebhookId id : {1, 2, 3}) agenda.found({id, UtcTime(Milliseconds(id * 10)), past}, now);
  agenda.found({4, UtcTime{}, Milliseconds(4)}, now);
  BOOST_TEST((due(agenda) == Ids{1, 2, 3}));
  agenda.turn_ended(1);
  BOOST_TEST((due(agenda) == Ids{2, 3, 1}));
  BOOST_TEST((due(agenda, now + Milliseconds(5)) == Ids{2, 3, 4, 1}));
  BOOST_TEST((agenda.due(now).front().from == UtcTime(Milliseconds(19))));
  agenda.advance(2, UtcTime(Milliseconds(50)));
  BOOST_TEST((agenda.due(now).front().from == UtcTime(Milliseconds(50))));
  agenda.finished(2);
  BOOST_TEST((due(agenda) == Ids{3, 1}));
  BOOST_TEST(text(agenda.gaps(now)) == "-..0 2..2 4..4 5..+ ");
  agenda.waits(2, now);
  BOOST_TEST((agenda.due(now).front().from == UtcTime(Milliseconds(50))));
  agenda.look_again();
  BOOST_TEST((agenda.due(now).front().from == UtcTime{}));
}

// One with a retry tomorrow gets something new: what is due today must not be sought from tomorrow on.
BOOST_AUTO_TEST_CASE(what_comes_before_the_first_one_found_is_not_skipped) {
  constexpr Milliseconds day{86'400'000};
  const UtcTime seen(Milliseconds(1'000'000));
  WebhookAgenda agenda;
  agenda.found({1, seen + day, day}, now);
  agenda.waits(1, now + Milliseconds(1));
  BOOST_REQUIRE(due(agenda, now + Milliseconds(1)).size() == 1U);
  BOOST_TEST((agenda.due(now + Milliseconds(1)).front().from <= seen));
}

BOOST_AUTO_TEST_CASE(the_first_of_several_deliveries_decides_when_a_webhook_is_due) {
  WebhookAgenda agenda;
  agenda.waits(1, now + Milliseconds(9));
  agenda.waits(1, now + Milliseconds(5));
  agenda.waits(1, now + Milliseconds(7));
  BOOST_TEST(due(agenda, now + Milliseconds(4)).empty());
  BOOST_TEST(due(agenda, now + Milliseconds(5)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_postponed_webhook_is_not_due_whatever_is_found) {
  WebhookAgenda agenda;
  agenda.found({1, UtcTime{}, past}, now);
  agenda.postpone(1, now + Milliseconds(10));
  agenda.found({1, UtcTime{}, past}, now);
  agenda.waits(1, now);
  BOOST_TEST(due(agenda).empty());
  BOOST_TEST(due(agenda, now + Milliseconds(10)).size() == 1U);
}

// One with a retry in an hour may get something new at any moment: it is searched again.
BOOST_AUTO_TEST_CASE(one_that_is_set_aside_comes_back_only_if_something_is_found) {
  WebhookAgenda agenda;
  agenda.found({1, UtcTime{}, past}, now);
  agenda.set_aside(1, now + Milliseconds(10));
  BOOST_TEST(due(agenda, now + Milliseconds(20)).empty());
  agenda.found({1, UtcTime{}, past}, now);
  BOOST_TEST(due(agenda).empty());
  BOOST_TEST(due(agenda, now + Milliseconds(10)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(only_webhooks_that_are_due_or_postponed_are_not_searched) {
  WebhookAgenda agenda;
  agenda.found({5, UtcTime{}, past}, now);
  agenda.found({7, UtcTime{}, Milliseconds(0)}, now);
  BOOST_TEST(text(agenda.gaps(now)) == "-..4 6..7 8..+ ");
  BOOST_TEST(text(agenda.gaps(now + Milliseconds(1))) == "-..4 6..6 8..+ ");
  agenda.postpone(7, now + Milliseconds(10));
  BOOST_TEST(text(agenda.gaps(now)) == "-..4 6..6 8..+ ");
}

BOOST_AUTO_TEST_SUITE_END()
