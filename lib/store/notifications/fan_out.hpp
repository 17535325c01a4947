// From notifications to deliveries: what the dispatcher's fan-out reads and writes, in one transaction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "delivery/states.hpp"
#include "store/deliveries/lease.hpp"
#include "store/session/session.hpp"
#include "store/types.hpp"
#include "store/webhooks/target.hpp"
#include "webhook/event.hpp"

namespace store {

struct PendingNotification {
  NotificationId id;
  EntityId entity;
  std::optional<webhook::Event> event;  // none: not one of the catalogue
  std::string data;
  std::optional<UtcTime>
      occurred;  // none: not a day of the calendar, which some modes of the writer's session let in
};

struct TakeRequest {
  EntityId entity;
  NotificationId after;  // only what has a higher id: past what is known to be done
  unsigned limit;        // 1 or more
};
struct Taken {
  std::vector<PendingNotification> notifications;  // locked, by entity in the order given and by id
  struct Reach {
    unsigned found = 0;            // how many were looked at: fewer than its limit, and it has no more
    NotificationId last_left = 0;  // of those that are left to a newer version, the last one
  };
  std::map<EntityId, Reach> reached;  // of those with something pending
  unsigned left = 0;                  // their event is of a newer version of this program
};
/// The oldest pending notifications of each entity; those that somebody else holds are found and not taken.
/// An entity whose oldest `limit` are all held has nothing taken until one is free. Where a newer version has
/// brought the schema further, notifications of events that this one does not know are left to it.
Taken take_pending(Session& session, const std::vector<TakeRequest>& requests);

struct Subscriber {
  Target target;
  webhook::EventSet events;
  bool active;   // false: its deliveries are created retenida
  bool probing;  // the last attempt failed in transport or with 429/503: one in flight
  bool resting;  // a 429 asked for a pause that has not passed
  bool backlog;  // older deliveries are due and wait: a new one must not overtake them
};
struct Recipient {
  bool active = false;
  std::vector<Subscriber> webhooks;
  bool locked = false;  // somebody holds a webhook's row: nothing can be fanned out to it yet
};
/// The entities that exist, with their webhooks, locked for share until the transaction ends: none is
/// deleted, disabled or enabled meanwhile. Waits for no lock.
std::map<EntityId, Recipient> load_recipients(Session& session, const std::vector<EntityId>& entities);

struct NewDelivery {
  NotificationId notification;
  WebhookId webhook;
  delivery::DeliveryState state;  // pending, leased or held
};
struct RejectedNotification {
  NotificationId id;
  std::string reason;
};
struct FanOut {
  std::vector<NotificationId> processed;
  std::vector<RejectedNotification> rejected;
  std::vector<NewDelivery> deliveries;
};

struct CreatedDelivery {
  DeliveryId id;
  NotificationId notification;
  WebhookId webhook;
  UtcTime created;
};
/// Writes the plan; returns the deliveries that were created leased, by id. Throws Conflict when a
/// notification is no longer pending, Refused when the database refuses one of the rows for its content.
std::vector<CreatedDelivery> write_fan_out(Session& session, const FanOut& fan_out, const Lease& lease);

}  // namespace store
