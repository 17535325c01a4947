// Which entities have notifications that wait, as far as this dispatcher knows, and whose turn it is. Hints
// only: the database decides, and QueueScanner finds what is not here. Who has nothing waiting is forgotten,
// and nothing costs more for those who wait and are not to be taken now. Pure bookkeeping.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dispatcher/schedule/left_rows.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/notifications/fan_out.hpp"

namespace dispatcher {

/// Single notifications are *in line*, in the order of their ids, a few of each entity. An entity with more
/// than that *takes turns* with others like it once those in line are done: its next ones are sought.
class ReadyEntities {
 public:
  /// `cursor`: its turn begins after it.
  explicit ReadyEntities(delivery::EntityId cursor = 0);

  // What is found. False: it was known to wait, or told nothing new.

  /// Its oldest pending notifications.
  bool found(const store::WaitingEntity& entity);
  /// A new one. Everything older of its entity is done, or known here.
  bool arrived(const store::NewNotification& notification);
  /// Something new of it, which may not be its oldest.
  bool appeared(delivery::EntityId entity);
  /// Some new ones were not told: they may be of any entity.
  void missed_some();
  /// Whether more may be told: what is known is bounded.
  bool has_room() const { return line_.size() < longest_line && entities_.size() < most_entities; }
  /// The same for the search, which has room of its own: what arrives in masses must not keep it from its
  /// turn.
  bool has_room_for_search() const {
    return line_.size() < 2 * longest_line && entities_.size() < most_entities;
  }
  /// The line will soon be empty.
  bool runs_short() const { return line_.size() < longest_line / 2 && entities_.size() < most_entities; }

  // Whose turn it is.

  /// The first in line, at most `limit`.
  std::vector<store::NewNotification> line(std::size_t limit) const;
  enum class Pick {
    ready,    // with room for what it wakes, as far as is known
    busy,     // without
    suspect,  // something of it was refused: it is taken alone
    large,    // with more data than a batch had room for
  };
  /// How many take turns now.
  std::size_t count(Pick pick, platform::MonotonicTime now);
  /// The next in turn, at most `entities`, each with its oldest notifications, at most `limit`.
  std::vector<store::TakeRequest> next(Pick pick, unsigned entities, unsigned limit,
                                       platform::MonotonicTime now);
  /// The turn ended before it: it is the first of the next one.
  void resume_at(Pick pick, delivery::EntityId entity);

  // What became of them.

  /// Its notifications up to `last` are done with.
  void advance(delivery::EntityId entity, delivery::NotificationId last);
  /// Nothing more of it is known to wait.
  void finished(delivery::EntityId entity);
  /// Whether some of its notifications were left to a newer version, of a batch.
  void note_left(delivery::EntityId entity, bool some);
  /// One of its notifications was refused, and is passed over.
  void note_refused(delivery::EntityId entity);
  /// From now on it takes turns alone, until all of it has passed.
  void suspect(delivery::EntityId entity);
  bool suspected(delivery::EntityId entity) const;
  /// Whether a batch had no room for its data: it takes turns with others like it, with one notification
  /// each.
  void note_large(delivery::EntityId entity, bool large);
  /// Its webhooks have no slot free; until one of them gives one back.
  void mark_busy(delivery::EntityId entity);
  void clear_busy(delivery::EntityId entity);
  /// Not before `until`, whatever is found: somebody holds its rows.
  void postpone(delivery::EntityId entity, platform::MonotonicTime until);

  /// Every entity is looked at from its beginning again: ids are given before they are committed, so a lower
  /// one may have come after a higher one.
  void look_again();

  /// The ids that are not known to wait.
  std::vector<store::IdRange> ranges();

  /// Of what it costs: entities kept, and looked at so far.
  std::size_t known() const { return entities_.size(); }
  std::uint64_t visits() const { return visits_; }

  static constexpr std::size_t longest_line = 4096;
  static constexpr std::size_t line_share = 4;  // of one entity
  static constexpr std::size_t most_entities = 200'000;

 private:
  /// Where an entity that takes turns is kept.
  enum class Place { none, ready, busy, suspect, large, postponed };
  struct Entry {
    std::vector<delivery::NotificationId> in_line;
    bool more = false;                   // or there may be, after those in line
    delivery::NotificationId after = 0;  // in turns, what is sought; as of a look
    unsigned look = 0;
    unsigned sought = 0;  // at that look nothing was found before those in line
    bool busy = false;
    bool suspect = false;
    bool large = false;
    Place place = Place::none;
    platform::MonotonicTime not_before{};
    LeftRows left{};

    bool waits() const { return more || !in_line.empty(); }
  };
  using Entities = std::map<delivery::EntityId, Entry>;

  Entry* find(delivery::EntityId entity);
  bool found_before_line(delivery::EntityId entity, Entry& entry, delivery::NotificationId oldest);
  void put_in_line(delivery::EntityId entity, Entry& entry, delivery::NotificationId id);
  void take_turns_from(Entry& entry, delivery::NotificationId after);
  void leave_line(Entry& entry);
  void update_place(delivery::EntityId entity);
  static Place place_of(const Entry& entry);
  void unplace(delivery::EntityId entity, Entry& entry);
  void end_postponements(platform::MonotonicTime now);
  delivery::EntityId& cursor(Pick pick) { return cursors_[static_cast<std::size_t>(pick)]; }
  std::set<delivery::EntityId>& turns(Pick pick) { return turns_[static_cast<std::size_t>(pick)]; }

  Entities entities_;
  std::map<delivery::NotificationId, delivery::EntityId> line_;
  std::array<std::set<delivery::EntityId>, 4> turns_;
  std::array<delivery::EntityId, 4> cursors_{};
  std::set<std::pair<platform::MonotonicTime, delivery::EntityId>> postponed_;
  std::set<delivery::EntityId> with_left_;
  unsigned look_ = 0;
  std::uint64_t visits_ = 0;
};

}  // namespace dispatcher
