// The statements of the fan-out: a search without a lock, then one transaction that locks, reads and writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/delivery/states.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "lib/store/notifications/rejection.hpp"
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
  bool expired = false;  // its time, `caduca_en`, has come: a claim cancels its deliveries
  bool has_key = false;  // a `clave`
  bool urgent = false;   // `urgente`: it goes before its entity's others
  bool later = false;    // its time, `no_antes_de`, is to come
};

struct TakeRequest {
  EntityId entity;
  NotificationId after;  // reads only higher ids; lower ones have been passed over
  unsigned limit;        // 1 or more
};
/// Finds the oldest pending notifications of each entity: the entities in the order of `requests`, the
/// notifications of one entity by id.
std::vector<NotificationKey> find_oldest_pending(Session& session, const std::vector<TakeRequest>& requests);
/// Returns those of `ids` that are pending, locked or not.
std::set<NotificationId> find_pending(Session& session, const std::vector<NotificationId>& ids);
/// Reads the data that did not come with the rows, except data longer than `longest_data`.
void read_data(Session& session, std::vector<PendingNotification>& notifications);

/// Removes and returns notifications with unknown events if a newer release has migrated the schema: its
/// dispatchers handle them.
std::vector<PendingNotification> leave_to_newer(Session& session,
                                                std::vector<PendingNotification>& notifications);

/// Which locks of other sessions lock_pending() sees. A session that reads only the index
/// notificaciones_por_expandir locks its entries, and not the rows; a change of these columns then meets that
/// lock.
enum class LockedBy {
  row,            // cheaper; on MySQL the same as the other one
  row_and_entry,  // of that index
};
/// Locks and reads, by key, those of `ids` that are pending and that no other session has locked, in the
/// order of `ids`. Requires a transaction.
std::vector<PendingNotification> lock_pending(Session& session, const std::vector<NotificationId>& ids,
                                              LockedBy by = LockedBy::row);
/// A write to notificaciones_pendientes met a lock that lock_pending() did not see.
struct NotificationLocked : LockTimeout {
  using LockTimeout::LockTimeout;
};

struct Subscriber {
  Target target;
  webhook::EventSet events;
  bool active;         // false: new deliveries are created held
  bool one_at_a_time;  // the last attempt failed in transport or with 429 or 503: one slot only
  bool resting;
  bool backlog;  // true: older deliveries are due, and a new one must not overtake them
};
struct Recipient {
  bool active = false;
  std::vector<Subscriber> webhooks;
  bool locked = false;  // the entity's or a webhook's row is locked, so the fan-out must wait
};
/// Reads the existing entities and their webhooks. Locks the webhooks and the entities that have some for
/// share: none of them is deleted, disabled or enabled until the transaction ends. Waits for no lock.
std::map<EntityId, Recipient> load_recipients(Session& session, const std::vector<EntityId>& entities);

/// What an urgent delivery passes: a webhook's others that have been due for less than this. So what is not
/// urgent waits no longer than this for what is.
inline constexpr std::chrono::seconds urgent_head_start = std::chrono::hours(1);
struct NewDelivery {
  NotificationId notification;
  WebhookId webhook;
  webhook::Event event;
  delivery::DeliveryState state;  // pending, leased or held
  bool urgent = false;            // it is due as if it had waited for urgent_head_start
};
struct FanOutRows {
  std::vector<NotificationId> processed;
  std::vector<NotificationId> unreached;       // processed without a delivery: their `clave` is free again
  std::vector<NotificationId> deferred;        // their time, `no_antes_de`, is to come
  std::vector<RejectedNotification> rejected;  // for reject_notifications()
  std::vector<NewDelivery> deliveries;
};

struct CreatedDelivery {
  DeliveryId id;
  NotificationId notification;
  WebhookId webhook;
  UtcTime created;
};
/// Writes what is processed and its deliveries, and what is deferred (deferred.hpp). Gives `lease` to the new
/// deliveries that have the state `leased`, and returns them in the order of their ids. Throws Conflict when
/// a notification is not pending, NotificationLocked, and Refused when the database refuses the content of a
/// row.
std::vector<CreatedDelivery> write_fan_out(Session& session, const FanOutRows& fan_out, const Lease& lease);

/// For a notification that is pending although its deliveries exist: an earlier release created them while
/// another session had locked the notification's row. Marks it procesada, in a transaction of its own.
/// Returns false when it is not pending, or is locked.
bool finish_fan_out(Session& session, NotificationId id);

}  // namespace store
