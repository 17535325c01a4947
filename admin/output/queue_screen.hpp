// The screen of `queue status --watch`. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "admin/output/queue_alarms.hpp"

namespace admin {

struct Screen {
  std::size_t width = 80;  // columns, 1 or more; a wider line is cut instead of wrapped
  std::size_t height = 24;
  bool colours = false;
};

/// Returns the text that redraws the screen from the top and erases the rest of each line and everything
/// below. Each count also has its change per second since `before`, if given.
std::string draw_queue(const QueueSight& now, const std::optional<QueueSight>& before, std::string_view time,
                       const Screen& screen);

}  // namespace admin
