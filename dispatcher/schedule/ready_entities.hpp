// The ready set of fan-out: entities with notifications that wait, as far as this dispatcher knows, and which
// of them is next. These are hints: the database decides, and QueueScanner finds what is missing here. An
// entity with nothing that waits is forgotten, but not before the next look if it has rows that were passed
// over. Entities that wait, but cannot be taken now, cost time in ranges() only. Pure bookkeeping.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/notifications/fan_out.hpp"

namespace dispatcher {

/// Single notifications are *in line*, at most line_share of each entity: first those of entities whose
/// webhooks answer quickly (FairSlots::is_quick), then the others; each of the two in the order of their ids.
/// An entity with more notifications *takes turns* (round robin) once it has none in line. At its turn, its
/// next notifications are read from the table.
class ReadyEntities {
 public:
  using IsQuick = std::function<bool(delivery::EntityId)>;
  /// The first round begins after the entity `cursor`.
  explicit ReadyEntities(
      delivery::EntityId cursor = 0, IsQuick is_quick = [](auto) { return true; });

  // These calls report what was found. False: no news, for example because the entity was already known to
  // wait.

  /// The search found the oldest pending notifications of the entity.
  bool found(const store::WaitingEntity& entity);
  /// A new notification came. All older ones of its entity are done, or known here.
  bool arrived(const store::NotificationKey& notification);
  /// A new notification of the entity came, but it may have older ones that are not known here.
  bool appeared(delivery::EntityId entity);
  /// Some new notifications were skipped; they may be of any entity.
  void missed_some();
  /// True: new notifications may be added.
  bool has_room() const { return line_.size() < longest_line && entities_.size() < most_entities; }
  /// True: the search may add more. Part of the room is for the search alone, so that new notifications do
  /// not keep it out.
  bool has_room_for_search() const {
    return line_.size() < 2 * longest_line && entities_.size() < most_entities;
  }
  /// True: the line will soon be empty, and more entities may be added.
  bool runs_short() const { return line_.size() < short_line && entities_.size() < most_entities; }

  // These calls choose what is next.

  /// Returns the first notifications in line, at most `limit`, of which at most `most_quick` are of quick
  /// entities, and `most_others` of others; half of each if there are enough of both. `others_lead`: those of
  /// the other entities come first.
  std::vector<store::NotificationKey> line(std::size_t limit, bool others_lead = false,
                                           std::size_t most_quick = 2 * longest_line,
                                           std::size_t most_others = 2 * longest_line) const;
  /// The kinds of entities that take turns. An entity is of the first kind with which it is marked, otherwise
  /// it is ready.
  enum class Kind {
    suspect,  // the database refused, or may refuse, a notification: the entity is taken alone
    busy,     // the entity's next deliveries could only wait, until a result of its webhooks is recorded
    wrong,    // the entity's notifications can only be rejected, as far as is known
    large,    // a batch had no room for the entity's data: it takes turns with one notification each
    ready,    // the entity's deliveries can be sent, as far as is known
  };
  /// How many entities of a kind take turns now.
  std::size_t count(Kind kind, platform::MonotonicTime now);
  /// Returns the next entities of a kind, at most `entities`. Up to `limit` notifications of each are to be
  /// read, but only one of a large entity.
  std::vector<store::TakeRequest> next(unsigned entities, Kind kind, unsigned limit,
                                       platform::MonotonicTime now);
  /// The round ended before this entity: the next round begins with it.
  void resume_at(Kind kind, delivery::EntityId entity);

  // These calls report the results of a batch.

  /// The entity's notifications up to `last` need not be read again.
  void advance(delivery::EntityId entity, delivery::NotificationId last);
  /// Nothing more of the entity is known to wait.
  void finished(delivery::EntityId entity);
  /// Some notifications of the entity were passed over, although they are pending. Its reads go on behind
  /// them until they reach its last one. Only the next look makes them begin at the first row again:
  /// otherwise they might never reach the rows behind many that are passed over.
  void note_passed_over(delivery::EntityId entity);
  /// Sets or clears a mark of an entity of which something waits. `kind`: not Kind::ready.
  void mark(delivery::EntityId entity, Kind kind, bool on);
  /// The entity is not taken before `until`, whatever is found: another session has locked its rows.
  void postpone(delivery::EntityId entity, platform::MonotonicTime until);

  /// Makes every entity be read from its first notification again, except in the midst of rows that are
  /// passed over. Ids are assigned before the commit, so a row with a lower id may appear after one with a
  /// higher id.
  void look_again();

  /// The ranges of entity ids to search. They leave out an entity if some of its rows were passed over since
  /// the last look_again(), or if more of its notifications may wait than are in line. They also leave out an
  /// entity if its oldest notification was seen to be in line after the last look_again().
  std::vector<store::IdRange> ranges();

  /// For tests of the cost: entities kept, and entities visited so far.
  std::size_t known() const { return entities_.size(); }
  std::uint64_t visits() const { return visits_; }

  static constexpr std::size_t longest_line = 16'384;
  static constexpr std::size_t short_line = 2048;
  static constexpr std::size_t line_share = 4;  // notifications of one entity
  static constexpr std::size_t most_entities = 200'000;

 private:
  struct Entry {
    std::vector<delivery::NotificationId> in_line;
    bool quick = false;                  // the entity, when the first of in_line came
    bool more = false;                   // further ones wait, or may wait, after those in line
    delivery::NotificationId after = 0;  // the next turn reads what follows this id
    unsigned look = 0;                   // `after` is valid only while look_ is the same
    unsigned sought = 0;  // the last value of look_ at which the oldest notification was known to be in line
    std::array<bool, 4> marks{};                // by Kind, without Kind::ready
    std::optional<Kind> in_turns;               // the kind under which turns_ has the entity
    platform::MonotonicTime postponed_until{};  // 0: not postponed
    bool passed_over = false;  // some rows were, since the last look or since these reads began

    bool waits() const { return more || !in_line.empty(); }
    bool& marked(Kind kind) { return marks.at(static_cast<std::size_t>(kind)); }
  };
  using Entities = std::map<delivery::EntityId, Entry>;

  Entry* find(delivery::EntityId entity);
  bool found_before_line(delivery::EntityId entity, Entry& entry, delivery::NotificationId oldest);
  void put_in_line(delivery::EntityId entity, Entry& entry, delivery::NotificationId id);
  void take_turns_from(Entry& entry, delivery::NotificationId after);
  void leave_line(Entry& entry);
  void update_place(delivery::EntityId entity);
  static std::optional<Kind> kind_of(const Entry& entry);
  void end_postponements(platform::MonotonicTime now);
  delivery::EntityId& cursor(Kind kind) { return cursors_[static_cast<std::size_t>(kind)]; }
  std::set<delivery::EntityId>& turns(Kind kind) { return turns_[static_cast<std::size_t>(kind)]; }

  IsQuick is_quick_;
  Entities entities_;
  /// The notifications of quick entities come first.
  std::map<std::pair<bool, delivery::NotificationId>, delivery::EntityId> line_;
  std::array<std::set<delivery::EntityId>, 5> turns_;
  std::array<delivery::EntityId, 5> cursors_{};
  std::set<std::pair<platform::MonotonicTime, delivery::EntityId>> postponed_;  // by postponed_until
  std::set<delivery::EntityId> with_passed_over_;
  unsigned look_ = 0;
  std::uint64_t visits_ = 0;
};

}  // namespace dispatcher
