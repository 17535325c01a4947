// What the database refuses for its content, apart from what it takes.
#pragma once

#include <vector>

#include "store/session/session.hpp"

namespace dispatcher {

/// Calls `work` with a batch, a transaction; when the database refuses one of its rows, with each half of it
/// in turn, down to the one to blame, which `refused` is told with the error. So one bad row among n costs
/// the others about 2 log2(n) transactions, and nothing else. What else `work` throws ends it: it concerns
/// the session or the server.
template <class T, class Work, class Refused>
void isolate(const std::vector<T>& batch, Work&& work, Refused&& refused) {
  try {
    work(batch);
  } catch (const store::Refused& error) {
    if (batch.size() == 1) return refused(batch.front(), error);
    const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
    isolate(std::vector(batch.begin(), middle), work, refused);
    isolate(std::vector(middle, batch.end()), work, refused);
  }
}

}  // namespace dispatcher
