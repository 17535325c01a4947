// Deletes finished rows that are past their retention. It does so in batches by primary key, short enough not
// to disturb deliveries and inserts.
//
// Ids are nearly in the order of time, so two walks find all expired rows with few reads:
//  * The follower reads up to the first row that is younger than `retention.delivered`, and waits there, so
//    it reads each row about once. Nearly all earlier rows are deleted, and hardly any later one has expired.
//  * The sweep runs now and then over the rows that the follower has not deleted: failed deliveries, held
//    ones, and those delivered only after days of retries. It starts at the first row and ends where all rows
//    are too young for any retention but that of test notifications. The sweep also reads
//    `pruebas_por_borrar`, a table of the test notifications, because their retention is shorter.
// A walk is a value in memory. After a restart a new walk begins, and finds less to do.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lib/config/config.hpp"
#include "lib/store/session/session.hpp"

namespace store {

struct PurgeWalk {
  bool sweep = false;  // false: the follower
  /// The present table: 0 deliveries, 1 notifications, 2 webhooks, 3 tests; 4: done.
  std::size_t table = 0;
  std::array<std::int64_t, 4> after{};  // for each table, the last id that the walk has passed
  UtcTime deleted_after{};  // the last webhook's time of deletion: webhooks are read in that order
  std::string refusal{};    // the last row of the window that the database refused to remove, and why
  bool done() const { return table == after.size(); }
  /// Restarts the sweep; the follower continues where it was.
  void restart() { *this = sweep ? PurgeWalk{true} : PurgeWalk{false, 0, after}; }
};

/// Reads the next `window` rows and deletes those past their retention: notifications with all their
/// deliveries and attempts, once every delivery has expired; finished notifications without deliveries; and,
/// only in the sweep, deleted webhooks that have no deliveries. A notification's withdrawals
/// (notificaciones_anuladas) go with it. Returns the number of deleted deliveries, notifications and
/// webhooks. Skips locked rows, and rows that the database refuses to delete. Once a window has 32 rows that
/// were refused or, on MariaDB, met a lock that SKIP LOCKED does not detect, throws the next such error. If a
/// window has more attempts than one transaction may delete, the next call goes on with the same window.
/// Restarts a walk that is done. After any other exception the walk is past the window, and the next sweep
/// finds what is left of it.
std::uint64_t purge_window(Session& session, const config::RetentionSettings& retention, PurgeWalk& walk,
                           unsigned window);

}  // namespace store
