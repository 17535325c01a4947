// Makes long changes in short transactions.
#pragma once

#include <cstdint>

#include "lib/store/session/session.hpp"

namespace store {

/// Rows per transaction of a long change, few enough not to disturb other sessions.
inline constexpr unsigned batch_rows = 500;

/// Whether a long change is made, or its rows are only counted, in the same order and by the same conditions.
enum class Bulk { change, count };

/// Calls `change`, each time in a transaction of its own, until a call changes fewer than batch_rows rows. No
/// call may change more than batch_rows. Returns the total of changed rows.
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
