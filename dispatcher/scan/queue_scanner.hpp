// Finds the notifications and deliveries that wait, within a small share of the loop's time. A millisecond of
// a look in which it reads notifications that it finds does not count.
//
// It finds everything that is pending, also rows committed late, replayed, released or recovered. If nothing
// is pending or paused, a look is one cheap statement.
#pragma once

#include <optional>
#include <vector>

#include "dispatcher/scan/look_interval.hpp"
#include "dispatcher/scan/pacer.hpp"
#include "dispatcher/schedule/ready_set.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class QueueScanner {
 public:
  /// Fills `ready`, which outlives this object.
  QueueScanner(const config::DeliverySettings& settings, ReadySet& ready);

  /// Looks at the queue if a look is due. Otherwise reads only the pauses and, if the last read of new
  /// notifications did not reach their end, the next ones. `idle`: the caller has nothing else to do. Throws
  /// what the store throws.
  void look(store::Session& session, platform::MonotonicTime now, bool idle);

  /// When to call look() again. Long ago while it reads on without a look.
  platform::MonotonicTime next_look() const { return reads_on() ? platform::MonotonicTime{} : pacer_.next(); }
  /// The time between looks after 5 s without work.
  platform::Milliseconds longest_interval() const { return look_interval_.longest(); }

 private:
  /// True: further new notifications are known to follow those read so far, and few wait in line. They are
  /// read on without another look and without a rest: other entities' notifications may follow a million that
  /// are not committed. Each row is passed over once.
  bool reads_on() const { return more_new_ && !ready_.paused && ready_.entities.runs_short(); }
  platform::Milliseconds interval(bool new_ones, platform::MonotonicTime now);
  void check_pause(store::Session& session, platform::MonotonicTime now);
  bool find_new(store::Session& session, const store::QueuePeek& peek);
  bool read_new(store::Session& session);
  void skip_to(delivery::NotificationId newest);
  void search(store::Session& session, const store::QueuePeek& peek, bool idle);
  bool search_entities(store::Session& session);
  bool search_webhooks(store::Session& session);

  static constexpr unsigned share = 5;  // the percentage of the loop's time that each pacer allows its task

  ReadySet& ready_;
  platform::Milliseconds poll_interval_;
  LookInterval look_interval_;
  Pacer pacer_{share};
  Pacer entity_pacer_{share};
  Pacer webhook_pacer_{share};
  std::optional<delivery::NotificationId> newest_;  // the last id read or skipped; none before the first look
  delivery::NotificationId newest_seen_ = 0;        // the highest id at the last look
  bool more_new_ = false;                           // further notifications are known to follow newest_
  /// Some ids up to `newest_` were skipped, so the entity of a new notification may have older ones that are
  /// not known here. Stays true until no notification is pending, or until a search of all entities that
  /// began after the skip has ended.
  bool missed_some_ = true;
  bool search_covers_missed_ = false;
  std::vector<store::IdRange> entity_ranges_;   // not yet searched in this round
  std::vector<store::IdRange> webhook_ranges_;  // likewise
  platform::MonotonicTime next_look_again_{};
  platform::MonotonicTime next_pause_check_{};
  platform::MonotonicTime rests_from_{};  // looks are rarer from then on
};

}  // namespace dispatcher
