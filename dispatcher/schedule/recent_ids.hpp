// Remembers which ids were noted lately, in bounded memory.
#pragma once

#include <cstddef>
#include <set>
#include <utility>

namespace dispatcher {

/// Remembers ids until the second call of age() after their last note(), and at most 2 * `most` of them.
template <class Id>
class RecentIds {
 public:
  explicit RecentIds(std::size_t most) : most_(most) {}

  void note(Id id) {
    if (young_.size() >= most_) age();
    young_.insert(id);
  }
  void age() { old_ = std::exchange(young_, {}); }
  void forget(Id id) {
    young_.erase(id);
    old_.erase(id);
  }
  bool contains(Id id) const { return young_.contains(id) || old_.contains(id); }

 private:
  std::size_t most_;
  std::set<Id> young_;
  std::set<Id> old_;
};

}  // namespace dispatcher
