// The statements of the fan-out: reads without a lock, then one transaction of writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/delivery/states.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/event.hpp"

namespace store {

/// A pending notification. Its columns may hold anything, because MariaDB lets any session disable the CHECKs
/// (SET check_constraint_checks).
struct PendingNotification {
  NotificationId id;
  EntityId entity;
  std::optional<webhook::Event> event;  // unset: not in the catalogue
  std::optional<UtcTime>
      occurred;  // unset: not a day of the calendar, which some sql_modes of the writer's session allow
  std::uint64_t bytes;              // size of the data
  std::optional<std::string> data;  // unset: too long to be read with the row (read_data)
  bool valid_key = true;
  /// `notificaciones_apartadas` lists it: rejected by this release, cancelled by the operator, or fanned out.
  bool quarantined = false;
  bool fanned_out = false;  // listed there as fanned out; its own row was locked, and is still pendiente
};

struct TakeRequest {
  EntityId entity;
  NotificationId after;  // reads only higher ids; lower ones have been passed over
  unsigned limit;        // 1 or more
};
/// Finds the oldest pending notifications of each entity: the entities in the order of `requests`, the
/// notifications of one entity by id. This and the next two functions need no lock: only the state of a
/// notification can change, and the writes check it again.
std::vector<NotificationKey> find_oldest_pending(Session& session, const std::vector<TakeRequest>& requests);
/// Reads those of `ids` that are pending, in the order of `ids`.
std::vector<PendingNotification> read_pending(Session& session, const std::vector<NotificationId>& ids);
/// Reads the data that did not come with the rows, except data longer than `longest_data`.
void read_data(Session& session, std::vector<PendingNotification>& notifications);

/// Removes and returns the quarantined notifications.
std::vector<PendingNotification> leave_quarantined(std::vector<PendingNotification>& notifications);
/// Removes and returns notifications with unknown events if a newer release has migrated the schema: its
/// dispatchers handle them.
std::vector<PendingNotification> leave_to_newer(Session& session,
                                                std::vector<PendingNotification>& notifications);

/// Locks, by key, the notifications that are pending and that no other session has locked; returns them.
/// Requires a transaction.
std::set<NotificationId> lock_pending(Session& session, const std::vector<NotificationId>& ids);

struct Subscriber {
  Target target;
  webhook::EventSet events;
  bool active;   // false: new deliveries are created held
  bool probing;  // the last attempt failed in transport or with 429 or 503: one slot only
  bool resting;
  bool backlog;  // true: older deliveries are due, and a new one must not overtake them
};
struct Recipient {
  bool active = false;
  std::vector<Subscriber> webhooks;
  bool locked = false;  // the entity's or a webhook's row is locked, so the fan-out must wait
};
/// Reads the existing entities and their webhooks, and locks them for share: none of them is deleted,
/// disabled or enabled until the transaction ends. Waits for no lock.
std::map<EntityId, Recipient> load_recipients(Session& session, const std::vector<EntityId>& entities);

struct NewDelivery {
  NotificationId notification;
  WebhookId webhook;
  webhook::Event event;
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
/// Writes the fan-out. Gives `lease` to the new deliveries that have the state `leased`, and returns them in
/// the order of their ids. Throws Conflict when a notification is not pending, Refused when the database
/// refuses the content of a row.
std::vector<CreatedDelivery> write_fan_out(Session& session, const FanOut& fan_out, const Lease& lease);

/// Returns those of `ids` that are pending and that no open transaction is cancelling or deleting. Not to be
/// called within a transaction.
std::set<NotificationId> find_left_pending(Session& session, const std::vector<NotificationId>& ids);
/// Writes the fan-out of notifications that another session keeps locked
/// (docs/delivery.md#locked-notifications): their rows stay pendiente, and `notificaciones_apartadas` lists
/// them as procesada. Ignores notifications without deliveries. Throws Refused when a notification is listed
/// already or is not pendiente.
std::vector<CreatedDelivery> write_fan_out_past_locks(Session& session, const FanOut& fan_out,
                                                      const Lease& lease);
/// Marks these notifications as procesada, except locked ones, in a transaction of its own. Deletes from
/// `notificaciones_apartadas` the notifications that are no longer pendiente, and returns those that still
/// are.
std::vector<NotificationId> finish_fan_out_past_locks(Session& session,
                                                      const std::vector<NotificationId>& ids);

}  // namespace store
