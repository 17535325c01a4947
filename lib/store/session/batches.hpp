// Long changes in short transactions.
#pragma once

#include <cstdint>

#include "lib/store/session/session.hpp"

namespace store {

/// Rows changed by one statement of a long change: short enough to disturb nobody.
inline constexpr unsigned batch_rows = 500;

/// Repeats a change limited to batch_rows, in a transaction each time, until it finds less than that to do.
/// The rows changed in all.
template <class F>
std::uint64_t in_batches(Session& session, F&& change) {
  std::uint64_t total = 0;
  for (;;) {
    const std::uint64_t changed = transaction(session, change);
    total += changed;
    if (changed < batch_rows) return total;
  }
}

}  // namespace store
