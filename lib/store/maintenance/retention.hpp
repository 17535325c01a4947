// Finished rows past their retention, removed in batches by primary key, so short that they disturb neither
// deliveries nor inserts.
//
// Ids are nearly in the order of time, so two walks find everything without reading much:
//  * the follower goes up to the first row that is younger than `retention.delivered`, and stays there:
//  behind it,
//    nearly everything has gone, ahead of it nothing is expired. It reads each row about once.
//  * the sweep, now and then, goes over what the follower has left behind (failed ones, held ones, those that
//  took
//    days): it begins at the first row and ends where everything is younger than the shortest retention.
//    Test notifications, which have a shorter one, it finds in a table of their own (`pruebas_por_borrar`).
// A walk is a value in memory: one that is lost begins again and finds less to do.
#pragma once

#include <array>
#include <cstdint>

#include "lib/platform/config.hpp"
#include "lib/store/session/session.hpp"

namespace store {

struct PurgeWalk {
  bool sweep = false;
  std::size_t table =
      0;  // where it is: deliveries, notifications, webhooks, quarantine, tests; 5: at the end
  std::array<std::int64_t, 5> after{};  // of each table, the last id that it is done with
  UtcTime deleted_after{};              // of webhooks, which go in the order of their deletion: when
  bool done() const { return table == after.size(); }
  /// To the start again; the follower goes on where it was.
  void restart() { *this = sweep ? PurgeWalk{true} : PurgeWalk{false, 0, after}; }
};

/// Looks at the next `window` rows, and removes those that are past their retention: notifications with all
/// of their deliveries and attempts, once none of the deliveries must be kept; finished notifications without
/// deliveries; (only the sweep) deleted webhooks without deliveries, notifications in quarantine, and tests.
/// The rows removed, attempts not counted. What is locked at this moment, to be replayed say, is skipped.
/// A walk that is done begins again. When the database refuses to remove rows, the walk is past them all the
/// same: they are the next sweep's.
std::uint64_t purge_window(Session& session, const platform::RetentionSettings& retention, PurgeWalk& walk,
                           unsigned window);

}  // namespace store
