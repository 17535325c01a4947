#include "dispatcher/schedule/ready_entities.hpp"

#include <algorithm>
#include <limits>

#include "dispatcher/schedule/id_ranges.hpp"

namespace dispatcher {

namespace {

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();

}  // namespace

ReadyEntities::ReadyEntities(delivery::EntityId cursor, IsQuick is_quick) : is_quick_(std::move(is_quick)) {
  cursors_.fill(cursor);
}

bool ReadyEntities::found(const store::WaitingEntity& entity) {
  auto& entry = entities_[entity.id];
  ++visits_;
  if (entry.more || entry.passed_over) return false;
  if (!entry.in_line.empty()) return found_before_line(entity.id, entry, entity.oldest.front());
  entry.sought = look_;
  const auto share = std::min(line_share, entity.oldest.size());
  for (std::size_t i = 0; i < share; ++i) put_in_line(entity.id, entry, entity.oldest[i]);
  if (entity.more || share < entity.oldest.size()) take_turns_from(entry, entity.oldest[share - 1]);
  update_place(entity.id);
  return true;
}

/// `oldest` is the entity's oldest pending notification. If it precedes the entity's notifications in line,
/// it was committed after them. The entity then leaves the line and takes turns, which read its notifications
/// from `oldest` on.
bool ReadyEntities::found_before_line(delivery::EntityId entity, Entry& entry,
                                      delivery::NotificationId oldest) {
  entry.sought = look_;
  if (oldest >= entry.in_line.front()) return false;
  leave_line(entry);
  take_turns_from(entry, oldest.previous());
  update_place(entity);
  return true;
}

bool ReadyEntities::arrived(const store::NotificationKey& notification) {
  auto& entry = entities_[notification.entity];
  ++visits_;
  if (entry.more) return false;
  if (entry.in_line.size() < line_share) {
    put_in_line(notification.entity, entry, notification.id);
  } else {
    take_turns_from(entry, entry.in_line.back());
  }
  update_place(notification.entity);
  return !entry.more;
}

bool ReadyEntities::appeared(delivery::EntityId entity) {
  const auto [at, is_new] = entities_.try_emplace(entity);
  auto& entry = at->second;
  ++visits_;
  if (entry.more) return false;
  const bool waited = entry.waits();
  // If the entity is known and nothing of it waits, it is remembered because of rows that were passed over.
  // Its `after` is kept, so that its next turn begins behind these rows.
  if (waited) {
    take_turns_from(entry, entry.in_line.back());
  } else if (is_new) {
    take_turns_from(entry, lowest);
  }
  entry.more = true;
  update_place(entity);
  return !waited;
}

void ReadyEntities::missed_some() {
  for (const auto& [place, entity] : line_) {
    ++visits_;
    auto& entry = entities_.at(entity);
    if (!entry.more) take_turns_from(entry, entry.in_line.back());
  }
}

std::vector<store::NotificationKey> ReadyEntities::line(std::size_t limit, bool others_lead,
                                                        std::size_t most_quick,
                                                        std::size_t most_others) const {
  std::vector<store::NotificationKey> result;
  const auto add = [&](auto& from, auto to, std::size_t most) {
    for (; from != to && result.size() < most; ++from) result.push_back({from->first.second, from->second});
  };
  auto first = line_.begin();
  auto second = line_.lower_bound({true, lowest});
  auto first_end = std::ranges::next(first, static_cast<std::ptrdiff_t>(std::min(most_quick, limit)), second);
  auto second_end =
      std::ranges::next(second, static_cast<std::ptrdiff_t>(std::min(most_others, limit)), line_.end());
  if (others_lead) {
    std::swap(first, second);
    std::swap(first_end, second_end);
  }
  add(first, first_end, (limit + 1) / 2);
  add(second, second_end, limit);
  add(first, first_end, limit);
  return result;
}

std::size_t ReadyEntities::count(Kind kind, platform::MonotonicTime now) {
  end_postponements(now);
  return turns(kind).size();
}

std::vector<store::TakeRequest> ReadyEntities::next(unsigned entities, Kind kind, unsigned limit,
                                                    platform::MonotonicTime now) {
  end_postponements(now);
  const auto& all = turns(kind);
  const auto most = std::min<std::size_t>(entities, all.size());
  std::vector<store::TakeRequest> result;
  for (auto i = all.upper_bound(cursor(kind)); result.size() < most; ++i) {
    if (i == all.end()) i = all.begin();
    ++visits_;
    auto& entry = entities_.at(*i);
    result.push_back({*i, entry.look == look_ ? entry.after : delivery::NotificationId(lowest),
                      entry.marked(Kind::large) ? 1 : limit});
  }
  if (!result.empty()) cursor(kind) = result.back().entity;
  return result;
}

void ReadyEntities::resume_at(Kind kind, delivery::EntityId entity) {
  cursor(kind) =
      entity == lowest ? delivery::EntityId(std::numeric_limits<std::int64_t>::max()) : entity.previous();
}

void ReadyEntities::advance(delivery::EntityId entity, delivery::NotificationId last) {
  auto* entry = find(entity);
  if (entry == nullptr) return;
  auto& in_line = entry->in_line;
  while (!in_line.empty() && in_line.front() <= last) {
    line_.erase({!entry->quick, in_line.front()});
    in_line.erase(in_line.begin());
  }
  if (in_line.empty()) {
    entry->after = last;
    entry->look = look_;
    if (!entry->more) return finished(entity);
  }
  update_place(entity);
}

void ReadyEntities::finished(delivery::EntityId entity) {
  auto* entry = find(entity);
  if (entry == nullptr) return;
  entry->more = false;
  entry->marks = {};
  update_place(entity);
}

void ReadyEntities::note_passed_over(delivery::EntityId entity) {
  if (auto* entry = find(entity)) {
    entry->passed_over = true;
    with_passed_over_.insert(entity);
  }
}

void ReadyEntities::mark(delivery::EntityId entity, Kind kind, bool on) {
  auto* entry = find(entity);
  if (entry == nullptr || !entry->waits() || entry->marked(kind) == on) return;
  entry->marked(kind) = on;
  if (on) leave_line(*entry);
  update_place(entity);
}

void ReadyEntities::postpone(delivery::EntityId entity, platform::MonotonicTime until) {
  if (auto* entry = find(entity)) {
    postponed_.erase({entry->postponed_until, entity});
    postponed_.emplace(until, entity);
    entry->postponed_until = until;
    leave_line(*entry);
    update_place(entity);
  }
}

void ReadyEntities::look_again() {
  ++look_;
  for (auto i = with_passed_over_.begin(); i != with_passed_over_.end();) {
    const auto entity = *i++;
    ++visits_;
    auto& entry = entities_.at(entity);
    if (entry.waits()) {
      if (entry.look == look_ - 1) entry.look = look_;
    } else {
      entry.passed_over = false;
      with_passed_over_.erase(entity);
      update_place(entity);
    }
  }
}

std::vector<store::IdRange> ReadyEntities::ranges() {
  visits_ += entities_.size();
  return ranges_between(entities_, [this](const Entry& entry) {
    return entry.more || entry.passed_over || (!entry.in_line.empty() && entry.sought == look_);
  });
}

ReadyEntities::Entry* ReadyEntities::find(delivery::EntityId entity) {
  const auto found = entities_.find(entity);
  ++visits_;
  return found == entities_.end() ? nullptr : &found->second;
}

void ReadyEntities::put_in_line(delivery::EntityId entity, Entry& entry, delivery::NotificationId id) {
  if (!entry.in_line.empty() && id <= entry.in_line.back()) return;
  if (entry.in_line.empty()) {
    entry.sought = look_;
    entry.quick = is_quick_(entity);
  }
  line_.emplace(std::pair(!entry.quick, id), entity);
  entry.in_line.push_back(id);
}

void ReadyEntities::take_turns_from(Entry& entry, delivery::NotificationId after) {
  entry.more = true;
  entry.after = after;
  entry.look = look_;
}

/// Makes the entity take turns, beginning with its first notification in line.
void ReadyEntities::leave_line(Entry& entry) {
  if (entry.in_line.empty()) return;
  take_turns_from(entry, entry.in_line.front().previous());
  for (const auto id : entry.in_line) line_.erase({!entry.quick, id});
  entry.in_line.clear();
}

/// Lists the entity under the kind with which it takes turns now, or under none. Forgets an entity that does
/// not wait and of which no rows were passed over.
void ReadyEntities::update_place(delivery::EntityId entity) {
  const auto at = entities_.find(entity);
  auto& entry = at->second;
  const auto kind = kind_of(entry);
  if (kind != entry.in_turns) {
    if (entry.in_turns) turns(*entry.in_turns).erase(entity);
    if (kind) turns(*kind).insert(entity);
    entry.in_turns = kind;
  }
  if (!entry.waits() && !entry.passed_over) {
    postponed_.erase({entry.postponed_until, entity});
    entities_.erase(at);
  }
}

/// nullopt: the entity does not take turns now.
std::optional<ReadyEntities::Kind> ReadyEntities::kind_of(const Entry& entry) {
  const bool postponed = entry.postponed_until > platform::MonotonicTime{};
  if (!entry.more || !entry.in_line.empty() || postponed) return std::nullopt;
  return static_cast<Kind>(std::ranges::find(entry.marks, true) - entry.marks.begin());
}

void ReadyEntities::end_postponements(platform::MonotonicTime now) {
  while (!postponed_.empty() && postponed_.begin()->first <= now) {
    const auto entity = postponed_.begin()->second;
    postponed_.erase(postponed_.begin());
    ++visits_;
    entities_.at(entity).postponed_until = {};
    update_place(entity);
  }
}

}  // namespace dispatcher
