// What needs an operator's attention in a look at the queue: the lines with which `queue status` begins, and
// what `queue status --check` judges. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/backlog/blocked_inserts.hpp"
#include "lib/store/backlog/locked_notifications.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/backlog/queue.hpp"
#include "lib/store/outages/outages.hpp"

namespace admin {

struct QueueSight {
  store::QueueStatus status;
  platform::MonotonicTime at;
  std::vector<store::RunningOutage> outages{};
  std::vector<store::Pause> pauses{};
  std::optional<store::LockedNotifications> locked{};
  std::optional<store::BlockedInserts> blocked{};
  bool sandbox = false;                   // delivery.sandbox is set here, or in a dispatcher of this host
  std::int64_t without_dispatcher_s = 0;  // how long ago a dispatcher last noted that it works, every 10 s
};

/// The statuses of the monitoring plugins of Nagios and Icinga.
enum class Level { ok, warning, critical, unknown };

struct Alarm {
  Level level;
  std::string text;  // one line
};
/// The most serious first.
std::vector<Alarm> alarms_of(const QueueSight& sight);

/// The wait of the oldest notification or delivery from which a check warns, or is critical.
struct Thresholds {
  std::chrono::seconds warning{60};
  std::chrono::seconds critical{600};
};
/// The result of a check, as plugins of Nagios write it: `QUEUE OK - … | mas_antigua=0s;60;600 …`. `data`:
/// what follows the text.
Alarm check_result(Level level, std::string text, const std::string& data = {});
Alarm check_queue(const QueueSight& sight, const Thresholds& thresholds);

/// Returns "paused: host hooks.example.com until 2026-… (why): `queue resume --host …`".
std::string describe_pause(const store::Pause& pause);

/// The option of `queue pause` and `queue resume` for this pause, with its value.
std::string selector_of(const store::Pause& pause);

/// Returns `4 s`, `3 min 20 s`, `5 h 02 min` or `3 d 4 h`.
std::string describe_age(std::int64_t seconds);

}  // namespace admin
