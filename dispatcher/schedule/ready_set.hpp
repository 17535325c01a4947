// Entities with pending notifications, as far as this dispatcher knows, taking turns. Hints only: the
// database decides, and QueueScanner finds what is not here. Who has nothing waiting any more is kept, for
// where it got to: a few dozen bytes each. Pure bookkeeping.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "platform/clock.hpp"
#include "store/backlog/queue_scan.hpp"
#include "store/notifications/fan_out.hpp"
#include "store/types.hpp"

namespace dispatcher {

/// Halves the widest ranges until there are `count`, or all are of one id: as many are searched at once, and
/// what waits is found side by side and not one after the other.
void halve_widest(std::vector<store::IdRange>& ranges, std::size_t count);

/// Rows that are left to a newer version: they are passed over in one go, and looked at again only after a
/// while. They would be found at every look otherwise, and what lies behind them never.
class LeftRows {
 public:
  void met() { passing_ = true; }
  /// Whether there were some in what was looked at last: behind them the end is reached.
  void note(bool some) { some ? met() : passed(); }
  /// The end of what waits is reached.
  void passed() {
    if (std::exchange(passing_, false)) looks_to_skip_ = 6;  // of QueueScanner's: half a minute
  }
  /// Whether a look begins at the start again.
  bool look_again() { return !passing_ && (looks_to_skip_ == 0 || --looks_to_skip_ == 0); }
  bool known() const { return looks_to_skip_ > 0; }

 private:
  bool passing_ = false;
  unsigned looks_to_skip_ = 0;
};

class ReadyEntities {
 public:
  /// `cursor`: its turn begins after it.
  explicit ReadyEntities(delivery::EntityId cursor = 0) : ready_cursor_(cursor) {}

  /// Its oldest pending notification is known.
  void found(const store::WaitingEntity& entity);
  /// Something new of it is known, which may not be its oldest.
  void appeared(delivery::EntityId entity);

  enum class Pick {
    ready,  // with room for what it wakes, as far as is known
    busy,   // without
  };
  /// The next entities in turn, at most `entities`, each with its oldest notifications, at most `limit`.
  std::vector<store::TakeRequest> next(Pick pick, unsigned entities, unsigned limit,
                                       platform::MonotonicTime now);

  /// Some of its notifications were left to a newer version.
  void left_some(delivery::EntityId entity);
  /// Its notifications up to `last` are done with.
  void advance(delivery::EntityId entity, delivery::NotificationId last);
  /// Nothing more of it is known to wait.
  void finished(delivery::EntityId entity);
  /// Its webhooks have no slot free; until one of them gives one back.
  void mark_busy(delivery::EntityId entity);
  void clear_busy(delivery::EntityId entity);
  /// It failed: not for a while, which doubles as long as it goes on failing.
  void failed(delivery::EntityId entity, platform::MonotonicTime now);
  /// Not before `until`, whatever is found: somebody holds its rows.
  void postpone(delivery::EntityId entity, platform::MonotonicTime until);
  /// The turn ended before it: it is the first of the next one.
  void resume_at(delivery::EntityId entity) { ready_cursor_ = entity - 1; }
  /// Every entity is looked at from its beginning again: ids are given before they are committed, so a lower
  /// one may have come after a higher one.
  void look_again();

  /// The ids that are not known to wait.
  std::vector<store::IdRange> ranges() const;

 private:
  struct Entry {
    delivery::NotificationId after;
    bool waiting = true;
    bool busy = false;
    unsigned failures = 0;  // in a row
    platform::MonotonicTime not_before{};
    LeftRows left{};
  };
  std::map<delivery::EntityId, Entry> entities_;
  delivery::EntityId ready_cursor_;
  delivery::EntityId busy_cursor_ = 0;
};

}  // namespace dispatcher
