// The screen of `queue status --watch`. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/backlog/locked_notifications.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/backlog/queue.hpp"
#include "lib/store/outages/outages.hpp"

namespace admin {

struct Screen {
  std::size_t width = 80;  // columns, 1 or more; a wider line is cut instead of wrapped
  std::size_t height = 24;
  bool colours = false;
};

struct QueueSight {
  store::QueueStatus status;
  platform::MonotonicTime at;
  std::vector<store::RunningOutage> outages{};
  std::vector<store::Pause> pauses{};
  std::optional<store::LockedNotifications> locked{};
};

/// Returns the text that redraws the screen from the top and erases the rest of each line and everything
/// below. Each count also has its change per second since `before`, if given.
std::string draw_queue(const QueueSight& now, const std::optional<QueueSight>& before, std::string_view time,
                       const Screen& screen);

/// Returns "paused: host hooks.example.com until 2026-… (why): `queue resume --host …`".
std::string describe_pause(const store::Pause& pause);

/// Returns "LOCKED: …", one line.
std::string describe_locked(const store::LockedNotifications& locked);

/// The option of `queue pause` and `queue resume` for this pause, with its value.
std::string selector_of(const store::Pause& pause);

/// Returns `4 s`, `3 min 20 s`, `5 h 02 min` or `3 d 4 h`.
std::string describe_age(std::int64_t seconds);

}  // namespace admin
