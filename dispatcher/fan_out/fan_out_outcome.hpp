// What became of the notifications of a batch.
#pragma once

#include <map>

#include "lib/delivery/ids.hpp"

namespace dispatcher {

enum class Outcome {
  // The notification is settled.
  not_pending,  // another session finished the notification, or has not committed it
  written,      // fanned out
  rejected,     // wrong, or for an entity that does not exist or is disabled
  // The notification is passed over: later ones of its entity do not wait for it. PassedOver keeps it.
  for_newer,   // left to a newer release
  row_locked,  // another session has locked the row
  refused,     // the database refuses it even in a transaction of its own
  untried,     // its batch met too many locked or refused ones before it
  // The notification waits. Its entity is read again from this notification on.
  no_room,  // the batch has no room for its data, or for those of an earlier notification of its entity
  no_slot,  // no slot is free for its entity
  busy,     // a slot is free, but its webhooks must first end attempts, a backlog or a rest of their own
  recipient_locked,  // another session has locked the row of its entity or of a webhook
  write_locked,      // the write of its deliveries met a lock
  put_off,           // isolating a refused row took too long; the entity is then taken in a batch of its own
};

inline bool is_passed_over(Outcome outcome) {
  return outcome >= Outcome::for_newer && outcome <= Outcome::untried;
}
inline bool waits(Outcome outcome) { return outcome >= Outcome::no_room; }

using Outcomes = std::map<delivery::NotificationId, Outcome>;

}  // namespace dispatcher
