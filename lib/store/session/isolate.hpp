// What the database refuses, apart from what it takes.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/store/session/errors.hpp"

namespace store {

/// Calls `work` with a batch, a transaction; when the database refuses it with an `Error`, with each half of
/// it in turn, down to the one to blame, which `blame` is told with the error. So one bad row among n costs
/// the others about 2 log2(n) transactions, and nothing else. What else `work` throws ends it: it concerns
/// the session or the server.
template <class Error = Refused, class T, class Work, class Blame>
void isolate(const std::vector<T>& batch, Work&& work, Blame&& blame) {
  try {
    work(batch);
  } catch (const Unavailable&) {
    throw;
  } catch (const Conflict&) {
    throw;
  } catch (const Error& error) {
    if (batch.size() == 1) return blame(batch.front(), error);
    const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
    isolate<Error>(std::vector(batch.begin(), middle), work, blame);
    isolate<Error>(std::vector(middle, batch.end()), work, blame);
  }
}

}  // namespace store
