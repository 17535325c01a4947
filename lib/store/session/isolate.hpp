// Finds one bad row among many: halves the batch that the database refuses, until the bad row stands alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/errors.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// After so many refused rows the next refusal ends the batch: a search for each further bad row would keep
/// the session from other work.
inline constexpr unsigned most_refused = 32;

/// Whether the database refuses a row's content, and would do so again.
inline bool is_refused(const DatabaseError& error) { return dynamic_cast<const Refused*>(&error) != nullptr; }
/// Whether another session kept a row, or a gap between rows, locked for too long.
inline bool is_lock_timeout(const DatabaseError& error) {
  return dynamic_cast<const LockTimeout*>(&error) != nullptr;
}
/// Whether a statement with `SET STATEMENT innodb_lock_wait_timeout = 0` met a lock that a read with SKIP
/// LOCKED does not detect (of a gap, or of a row that is being inserted). Always false on MySQL, which
/// ignores that setting.
inline bool is_locked_place(Session& session, const DatabaseError& error) {
  return is_lock_timeout(error) && session.is_mariadb();
}

/// Calls `work`, a transaction or one statement, with a batch. If `work` throws an error for which
/// `concerns_one` is true, calls `work` with each half in turn, down to the single element that fails, and
/// calls `blame` with that element and the error. One bad row among n costs about 2 log2(n) further calls.
/// Any other error is rethrown: it concerns the session or the server.
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

/// Changes rows in the open transaction, except those that the database refuses: a refusal undoes only the
/// refused statement. `change` changes some of `ids` by one statement, and returns how many. `refusal`
/// becomes the text that names the last refused row and says why; it stays if none was refused. Returns how
/// many rows were changed.
template <class Id, class Change>
std::uint64_t change_accepted(const std::vector<Id>& ids, std::string_view kind, std::string& refusal,
                              Change&& change) {
  if (ids.empty()) return 0;
  std::uint64_t changed = 0;
  unsigned refused = 0;
  const auto blame = [&](const Id& id, const DatabaseError& error) {
    ++refused;
    refusal = std::string(kind) + ' ' + to_string(id) + ": " + error.what();
  };
  try {
    isolate(
        ids, [&](const std::vector<Id>& some) { changed += change(some); }, blame,
        [&](const DatabaseError& error) { return is_refused(error) && refused < most_refused; });
  } catch (const Refused&) {  // the rest of the batch is not tried
  }
  return changed;
}

}  // namespace store
