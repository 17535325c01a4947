// Which deliveries a notification becomes. Pure: what was read goes in, what is to be written comes out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dispatcher/intake/leased_batch.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/store/notifications/fan_out.hpp"

namespace dispatcher {

/// Of the larger data of a batch; a single one may have more.
inline constexpr std::uint64_t bytes_per_batch = std::uint64_t{1024} * 1024;

/// Takes out, and returns, those whose data would make the batch too large, and those that follow them of
/// their entities. What has come with its row is small, and what is too long is never fetched: neither
/// counts.
std::vector<store::PendingNotification> cut_batch(std::vector<store::PendingNotification>& notifications,
                                                  std::uint64_t most_bytes = bytes_per_batch);

/// A notification whose own content has been checked.
struct JudgedNotification {
  delivery::NotificationId id;
  delivery::EntityId entity;
  std::optional<webhook::Event> event;  // these two are there, unless it is to be rejected
  std::optional<platform::UtcTime> occurred;
  std::string data;
  std::optional<std::string> wrong;  // why it is to be rejected: Spanish, names the field
};
/// As read_data leaves it: data that were not fetched are too long.
JudgedNotification judge(store::PendingNotification notification);

enum class Ahead {
  no,  // a notification of which nothing could be sent now is left as it is, and those after it of its entity
  yes,  // all are fanned out
};

struct FanOutPlan {
  store::FanOut fan_out;
  std::set<delivery::EntityId> busy;    // left for want of slots of their own webhooks
  std::set<delivery::EntityId> locked;  // left because somebody holds a row of their webhooks
  bool full = false;                    // the rest was left: no slot is free at all
};

/// Gives each notification of `held` one delivery per subscribed webhook: created leased where `slots` grant
/// it and nothing older of the webhook waits, held when the webhook is inactive, pending otherwise. What
/// cannot be delivered is rejected with a Spanish reason that names the field.
FanOutPlan plan_fan_out(const std::vector<JudgedNotification>& notifications,
                        const std::set<delivery::NotificationId>& held,
                        const std::map<delivery::EntityId, store::Recipient>& recipients, Grants& slots,
                        Ahead ahead);

}  // namespace dispatcher
