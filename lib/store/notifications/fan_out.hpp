// From notifications to deliveries: what the dispatcher's fan-out reads, without a lock, and then writes in
// one transaction.
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

/// More than this is refused at the INSERT (docs/table.md); what is there all the same is never fetched.
inline constexpr std::uint64_t longest_data = 65'536;

/// Its columns may be anything: MariaDB lets any session write past the CHECKs (SET check_constraint_checks).
struct PendingNotification {
  NotificationId id;
  EntityId entity;
  std::optional<webhook::Event> event;  // none: not one of the catalogue
  std::optional<UtcTime>
      occurred;         // none: not a day of the calendar, which some modes of the writer's session let in
  std::uint64_t bytes;  // of its data
  std::optional<std::string> data;  // small ones come with the row, the others by read_data
  bool valid_key = true;
  bool quarantined = false;  // by this version, put away by the operator, or fanned out
  bool fanned_out = false;   // past a lock on its row, which is still pendiente
};

struct TakeRequest {
  EntityId entity;
  NotificationId after;  // only what has a higher id: past what is known to be done
  unsigned limit;        // 1 or more
};
/// The oldest pending notifications of each entity, by entity in the order given and by id. Without a lock,
/// as the next two: what is written about a notification does not change but for its state.
std::vector<PendingNotification> find_oldest_pending(Session& session,
                                                     const std::vector<TakeRequest>& requests);
/// Those of `ids` that are pending, in their order.
std::vector<PendingNotification> read_pending(Session& session, const std::vector<NotificationId>& ids);
/// Fetches the data that did not come with the rows, unless it is longer than `longest_data`.
void read_data(Session& session, std::vector<PendingNotification>& notifications);

/// Takes out, and returns, those in quarantine.
std::vector<PendingNotification> leave_quarantined(std::vector<PendingNotification>& notifications);
/// Takes out, and returns, those of events that this version does not know, while a newer one has brought the
/// schema further: they are left to it.
std::vector<PendingNotification> leave_to_newer(Session& session,
                                                std::vector<PendingNotification>& notifications);

/// Locks those that are still pending and that nobody else holds, by key: which they are. In a transaction.
std::set<NotificationId> lock_pending(Session& session, const std::vector<NotificationId>& ids);

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
  bool locked = false;  // somebody holds its row, or a webhook's: nothing can be fanned out to it yet
};
/// The entities that exist, with their webhooks, locked for share until the transaction ends: none is
/// deleted, disabled or enabled meanwhile. Waits for no lock.
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
/// Writes the plan; returns the deliveries that were created leased, by id. Throws Conflict when a
/// notification is no longer pending, Refused when the database refuses one of the rows for its content.
std::vector<CreatedDelivery> write_fan_out(Session& session, const FanOut& fan_out, const Lease& lease);

/// The same for notifications whose rows another session keeps locked
/// (docs/delivery.md#locked-notifications): their rows stay pendiente, and a list says that they are
/// procesada. What has no deliveries is left. Throws Refused when one of them has been fanned
/// out, or is no longer pendiente.
std::vector<CreatedDelivery> write_fan_out_past_locks(Session& session, const FanOut& fan_out,
                                                      const Lease& lease);
/// Marks those of them procesada in their own rows whose lock is gone, in a transaction of its own; returns
/// the others that are pendiente.
std::vector<NotificationId> finish_fan_out_past_locks(Session& session,
                                                      const std::vector<NotificationId>& ids);

}  // namespace store
