// Reports the outcomes of a fan-out batch, entity by entity, to the ready set (ready_entities.hpp). Pure
// bookkeeping.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "dispatcher/fan_out/fan_out_outcome.hpp"
#include "dispatcher/schedule/ready_entities.hpp"
#include "lib/store/notifications/fan_out.hpp"

namespace dispatcher {

/// The notifications of one batch. Some are in line; the others are of entities that take turns, and all
/// these entities are of one kind. ready_entities.hpp explains line, turns and kinds.
struct Selection {
  std::vector<store::NotificationKey> rows;  // those of one entity in ascending order of id
  ReadyEntities::Kind kind;                  // the kind of entities that `requests` names
  std::vector<store::TakeRequest> requests;  // which entities take a turn, and how much is read of each
};

/// What a batch shows of one entity.
struct EntityFacts {
  delivery::NotificationId passed_to = 0;  // the last notification before the first that waits; 0: none
  unsigned found = 0;                      // number of notifications in the batch
  bool waits = false;                      // at least one notification waits
  std::set<Outcome> outcomes;

  bool has(Outcome outcome) const { return outcomes.contains(outcome); }
  /// True: the entity's next notifications must have batches of their own, without other entities.
  bool suspect() const { return has(Outcome::refused) || has(Outcome::put_off); }
  bool locked() const { return has(Outcome::recipient_locked) || has(Outcome::write_locked); }
};

/// `outcomes` has an entry for each of `rows`.
std::map<delivery::EntityId, EntityFacts> facts_by_entity(const std::vector<store::NotificationKey>& rows,
                                                          const Outcomes& outcomes);

/// Reports a batch to `entities`. `with_large`: the entities of which a notification has data too large to be
/// read with its row. Postpones locked entities by `locked_wait` from `now`.
void report_batch(const Selection& selection, const Outcomes& outcomes,
                  const std::set<delivery::EntityId>& with_large, platform::MonotonicTime now,
                  ReadyEntities& entities);

}  // namespace dispatcher
