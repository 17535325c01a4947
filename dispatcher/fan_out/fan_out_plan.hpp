// Decides which deliveries a notification becomes. Gets what was read, and returns what is to be written.
// Pure, except that it takes slots.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dispatcher/fan_out/fan_out_outcome.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "dispatcher/schedule/leased_batch.hpp"
#include "lib/store/notifications/fan_out.hpp"

namespace dispatcher {

/// Most bytes of data that one batch fetches.
inline constexpr std::uint64_t bytes_per_batch = std::uint64_t{1024} * 1024;

/// Limits the bytes of data that a batch must fetch. Removes and returns each notification with data that
/// would exceed `most_bytes`, and all later notifications of its entity. Two kinds of data do not count: data
/// that were read together with the row, which are small, and data longer than store::longest_data, which are
/// never fetched.
std::vector<store::PendingNotification> cut_batch(std::vector<store::PendingNotification>& notifications,
                                                  std::uint64_t most_bytes = bytes_per_batch);

/// A notification after the check of its own content.
struct JudgedNotification {
  delivery::NotificationId id;
  delivery::EntityId entity;
  std::optional<webhook::Event> event;  // `event` and `occurred` are set unless `wrong` is set
  std::optional<platform::UtcTime> occurred;
  std::string data;
  bool expired;
  bool has_key;
  bool urgent;
  bool later;
  std::optional<std::string> wrong;  // why to reject the notification, in Spanish; names the field
};
/// Checks a notification. Call it after store::read_data: a notification without data then counts as one with
/// data that are too long.
JudgedNotification judge(store::PendingNotification notification);

/// What becomes of a notification with deliveries that could only wait.
enum class Ahead {
  no,   // it is left if Outcome::no_slot or Outcome::busy applies
  yes,  // it is fanned out, ahead of the time at which its deliveries can be sent
};

struct FanOutPlan {
  store::FanOutRows fan_out;
  Outcomes outcomes;  // of every notification, once `fan_out` is written
};

/// Plans one delivery per subscribed webhook, in one of three states. DeliveryState::held: the webhook is
/// inactive. DeliveryState::leased: the notification has not expired, the webhook does not rest, nothing
/// older waits for it, and `slots` grant a slot. DeliveryState::pending: otherwise. Rejects a notification
/// that cannot be delivered.
FanOutPlan plan_fan_out(const std::vector<JudgedNotification>& notifications,
                        const std::map<delivery::EntityId, store::Recipient>& recipients, Grants& slots,
                        Ahead ahead);

}  // namespace dispatcher
