#include "dispatcher/fan_out/fan_out_report.hpp"

#include <algorithm>

#include "dispatcher/schedule/waits.hpp"

namespace dispatcher {

namespace {

/// Tells the ready set up to which id the entity's notifications need not be read again, and whether some of
/// them were passed over.
void report_progress(delivery::EntityId entity, const EntityFacts& facts, ReadyEntities& entities) {
  if (std::ranges::any_of(facts.outcomes, is_passed_over)) entities.note_passed_over(entity);
  if (facts.passed_to > 0) entities.advance(entity, facts.passed_to);
}

/// Reports why the entity waits, which decides when it is taken again.
void report_waiting(delivery::EntityId entity, const EntityFacts& facts, bool with_large,
                    platform::MonotonicTime now, ReadyEntities& entities) {
  using enum ReadyEntities::Kind;
  const bool no_room = facts.has(Outcome::no_room);
  if (no_room || !with_large) entities.mark(entity, large, no_room);
  if (facts.has(Outcome::busy)) entities.mark(entity, busy, true);
  entities.mark(entity, suspect, facts.suspect());
  if (facts.found > 0) entities.mark(entity, wrong, facts.outcomes == std::set{Outcome::rejected});
  if (facts.locked()) entities.postpone(entity, now + locked_wait);
}

}  // namespace

std::map<delivery::EntityId, EntityFacts> facts_by_entity(const std::vector<store::NotificationKey>& rows,
                                                          const Outcomes& outcomes) {
  std::map<delivery::EntityId, EntityFacts> result;
  for (const auto& row : rows) {
    auto& facts = result[row.entity];
    const auto outcome = outcomes.at(row.id);
    facts.outcomes.insert(outcome);
    ++facts.found;
    facts.waits = facts.waits || waits(outcome);
    if (!facts.waits) facts.passed_to = row.id;
  }
  return result;
}

void report_batch(const Selection& selection, const Outcomes& outcomes,
                  const std::set<delivery::EntityId>& with_large, platform::MonotonicTime now,
                  ReadyEntities& entities) {
  auto by_entity = facts_by_entity(selection.rows, outcomes);
  for (const auto& request : selection.requests) by_entity[request.entity];  // also entities with no rows
  for (const auto& [entity, facts] : by_entity) report_progress(entity, facts, entities);
  for (const auto& request : selection.requests) {
    const auto& facts = by_entity.at(request.entity);
    if (!facts.waits && facts.found < request.limit) entities.finished(request.entity);
    // Perhaps one transaction has written very many, and has not committed them.
    else if (facts.outcomes == std::set{Outcome::not_pending})
      entities.postpone(request.entity, now + locked_wait);
  }
  const auto left_over = std::ranges::find_if(selection.requests, [&](const auto& request) {
    const auto& facts = by_entity.at(request.entity);
    return facts.waits && !facts.has(Outcome::busy) && !facts.locked();
  });
  if (left_over != selection.requests.end()) entities.resume_at(selection.kind, left_over->entity);
  for (const auto& [entity, facts] : by_entity)
    report_waiting(entity, facts, with_large.contains(entity), now, entities);
}

}  // namespace dispatcher
