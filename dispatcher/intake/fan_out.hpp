// Which deliveries a notification becomes. Pure: what was read goes in, what is to be written comes out.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "delivery/fair_slots.hpp"
#include "store/notifications/fan_out.hpp"

namespace dispatcher {

enum class Ahead {
  no,  // a notification of which nothing could be sent now is left as it is, and those after it of its entity
  yes,  // all are fanned out
};

struct FanOutPlan {
  store::FanOut fan_out;
  std::set<delivery::EntityId> busy;    // left for want of slots of their own webhooks
  std::set<delivery::EntityId> locked;  // left because somebody holds a row of their webhooks
  bool full = false;                    // the rest was left, from `left_at` on: no slot is free at all
  delivery::EntityId left_at = 0;
  std::map<delivery::EntityId, delivery::NotificationId>
      done;  // the last one of each entity that was not left
};

/// Where requests to a webhook go, and whose slots they take.
delivery::Destination destination_of(const store::Target& target, delivery::EntityId entity, bool probing);

/// Checks each notification and gives it one delivery per subscribed webhook: created leased where `slots`
/// grant it and nothing older of the webhook waits, held when the webhook is inactive, pending otherwise.
/// What cannot be delivered is rejected with a Spanish reason that names the field.
FanOutPlan plan_fan_out(const std::vector<store::PendingNotification>& notifications,
                        const std::map<delivery::EntityId, store::Recipient>& recipients,
                        delivery::Grants& slots, Ahead ahead);

}  // namespace dispatcher
