// Converts a duration for an SQL INTERVAL.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/platform/clock.hpp"

namespace store {

inline std::int64_t microseconds(platform::Milliseconds time) { return std::int64_t{time.count()} * 1000; }
inline std::optional<std::int64_t> microseconds(const std::optional<platform::Milliseconds>& time) {
  return time ? std::optional(microseconds(*time)) : std::nullopt;
}

}  // namespace store
