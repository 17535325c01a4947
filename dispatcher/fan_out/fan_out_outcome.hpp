// What became of the notifications of a batch.
#pragma once

#include <map>

#include "lib/delivery/ids.hpp"

namespace dispatcher {

enum class Outcome {
  // The notification need not be waited for.
  not_pending,  // another session finished it
  written,      // fanned out or rejected
  unmarked,     // its deliveries exist, but its locked row does not say so yet
  left,         // quarantined, or left to a newer version
  row_locked,   // another session has locked its row, or finished it since it was read
  refused,      // the database refuses it even in a transaction of its own
  // The notification waits. Its entity is read again from this notification on.
  no_room,           // the batch has no room for its data, or for the data of an earlier one of its entity
  no_slot,           // no slot is free at all
  busy,              // a slot is free, but its deliveries could only wait for their webhooks
  recipient_locked,  // another session has locked the row of its entity or of a webhook
  write_locked,      // the write met a lock, or a delivery that exists
  put_off,           // isolating a refused row took too long; this notification's entity is taken alone
};

inline bool waits(Outcome outcome) { return outcome >= Outcome::no_room; }

using Outcomes = std::map<delivery::NotificationId, Outcome>;

}  // namespace dispatcher
