// What waits and what is paused, as far as this dispatcher knows. The scan fills it; claims, fan-out and
// diagnoses take from it. A hint: the database decides.
#pragma once

#include <utility>

#include "dispatcher/schedule/paused_parts.hpp"
#include "dispatcher/schedule/ready_entities.hpp"
#include "dispatcher/schedule/ready_webhooks.hpp"

namespace dispatcher {

struct ReadySet {
  /// `cursor`: the entity after which the first round robin begins, so that each dispatcher begins elsewhere.
  explicit ReadySet(
      delivery::EntityId cursor, ReadyEntities::IsQuick is_quick = [](auto) { return true; })
      : entities(cursor, std::move(is_quick)) {}

  ReadyEntities entities;  // with pending notifications
  ReadyWebhooks webhooks;  // with pending deliveries
  bool paused = true;      // the whole queue is paused; true until the first look
  PausedParts paused_parts;
  bool asked_diagnoses = false;  // entities have asked for diagnoses that no dispatcher has begun
};

}  // namespace dispatcher
