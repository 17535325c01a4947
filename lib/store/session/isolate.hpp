// One bad row among many: a batch that the database does not take as a whole is divided until it is found.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/store/session/errors.hpp"

namespace store {

/// A row's content, which the database refuses however often it is asked.
inline bool is_refused(const DatabaseError& error) { return dynamic_cast<const Refused*>(&error) != nullptr; }
/// A lock on one of the rows, or on what lies between them.
inline bool is_lock_timeout(const DatabaseError& error) {
  return dynamic_cast<const LockTimeout*>(&error) != nullptr;
}

/// Calls `work` with a batch, a transaction; when that throws an error that `concerns_one`, with each half of
/// it in turn, down to the one to blame, which `blame` is told with the error. So one bad row among n costs
/// the others about 2 log2(n) transactions, and nothing else. Any other error ends it: it concerns the
/// session or the server.
template <class T, class Work, class Blame, class ConcernsOne>
void isolate(const std::vector<T>& batch, Work&& work, Blame&& blame, ConcernsOne&& concerns_one) {
  try {
    return work(batch);
  } catch (const DatabaseError& error) {
    if (!concerns_one(error)) throw;
    if (batch.size() == 1) return blame(batch.front(), error);
  }
  const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
  isolate(std::vector(batch.begin(), middle), work, blame, concerns_one);
  isolate(std::vector(middle, batch.end()), work, blame, concerns_one);
}
template <class T, class Work, class Blame>
void isolate(const std::vector<T>& batch, Work&& work, Blame&& blame) {
  isolate(batch, work, blame, is_refused);
}

}  // namespace store
