#include "dispatcher/outage/outage_judge.hpp"

#include <algorithm>

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr auto between_checks = 1s;
constexpr unsigned few_checks = 4;
constexpr unsigned many_checks = 15;
/// After this time new checks may begin, even if earlier ones have no result.
constexpr auto check_patience = 30s;

}  // namespace

void OutageJudge::heard(platform::MonotonicTime at) {
  if (heard_ && at <= *heard_) return;
  heard_ = at;
  if (first_ && at > *first_) {
    // Earlier checks say nothing about the time after the sign of life.
    if (outage_ && at < *outage_ + rule_.longest) last_outage_until_ = at;
    outage_.reset();
    failed_ = checking_ = 0;
    unknowable_ = false;
  }
  forget(at);
}

void OutageJudge::silent(const std::string& place, delivery::EntityId entity, platform::MonotonicTime at) {
  if (heard_ && at <= *heard_) return;
  if (!first_ || at < *first_) first_ = at;
  if (silent_.size() >= most_places && !silent_.contains(place)) return;
  auto& known = silent_[place];
  known.entity = entity;
  known.last = std::max(known.last, at);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of time
OutageJudge::Verdict OutageJudge::judge(platform::MonotonicTime began, platform::MonotonicTime ended,
                                        platform::MonotonicTime now) const {
  if (began < last_outage_until_) return Verdict::ours;
  if (heard_ && *heard_ >= ended) return Verdict::theirs;
  if (outage_) return now < *outage_ + rule_.longest ? Verdict::ours : Verdict::theirs;
  if (rule_.longest.count() == 0) return Verdict::theirs;
  if (known_ < rule_.checks) return Verdict::theirs;
  const bool enough = suspicious();
  if (enough && unknowable_) return Verdict::theirs;
  return enough || now < ended + rule_.wait ? Verdict::open : Verdict::theirs;
}

unsigned OutageJudge::wanted_checks(platform::MonotonicTime now) const {
  if (rule_.longest.count() == 0 || known_ < rule_.checks || now < checked_ + between_checks) return 0;
  if (outage_) return rule_.checks;
  if (checking_ > 0 && now < checked_ + check_patience) return 0;
  if (may_declare(now)) return rule_.checks;
  const bool open = now < latest_ + rule_.wait && !(heard_ && *heard_ >= latest_);
  if (!open) return 0;
  return suspicious() ? many_checks : few_checks;
}

void OutageJudge::checking(unsigned count, platform::MonotonicTime now) {
  checked_ = now;
  if (outage_ || !may_declare(now)) return;
  unknowable_ = count < rule_.checks;
  checking_ = count;
  failed_ = 0;
}

void OutageJudge::check_failed(platform::MonotonicTime began, platform::MonotonicTime ended) {
  if (checking_ == 0 || began < checked_ || (heard_ && ended <= *heard_)) return;
  --checking_;
  if (++failed_ >= rule_.checks && !outage_ && suspicious()) outage_ = first_;
}

void OutageJudge::check_told_nothing(platform::MonotonicTime began) {
  if (checking_ > 0 && began >= checked_) --checking_;
}

bool OutageJudge::may_declare(platform::MonotonicTime now) const {
  return first_ && now >= *first_ + rule_.shortest && suspicious();
}

/// True: enough places of enough entities are silent.
bool OutageJudge::suspicious() const {
  if (silent_.size() < rule_.places) return false;
  std::set<delivery::EntityId> entities;
  for (const auto& [name, place] : silent_) {
    entities.insert(place.entity);
    if (entities.size() >= rule_.entities) return true;
  }
  return false;
}

void OutageJudge::forget(platform::MonotonicTime until) {
  std::erase_if(silent_, [until](const auto& one) { return one.second.last <= until; });
  first_.reset();
  for (const auto& [name, place] : silent_) {
    if (!first_ || place.last < *first_) first_ = place.last;
  }
}

}  // namespace dispatcher
