// How many slots are used and free. An eighth of all is a reserve: one half for quick webhooks, the other for
// those that are not (FairSlots says which webhook may use it). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

namespace dispatcher {

class SlotCounts {
 public:
  /// The half of the reserve to which a used slot belongs: true is that of quick webhooks. nullopt: none.
  using Half = std::optional<bool>;

  explicit SlotCounts(unsigned total) : total_(total) {}
  /// Changes the number of all slots; used ones stay used.
  void limit(unsigned total) { total_ = total; }

  void take(Half half) {
    ++used_;
    if (half) ++reserved_[*half];
  }
  void release(Half half) {
    --used_;
    if (half) --reserved_[*half];
  }

  unsigned used() const { return used_; }
  /// Free slots, including the reserve.
  unsigned free() const { return total_ - std::min(total_, used_); }
  /// Free slots outside the reserve.
  unsigned unreserved() const {
    const unsigned all = total_ - reserve();
    return std::min(free(), all - std::min(all, used_ - reserved_[false] - reserved_[true]));
  }
  /// Free slots of one half of the reserve.
  unsigned reserved(bool quick) const {
    const unsigned half = quick ? reserve() / 2 : reserve() - reserve() / 2;
    return half - std::min(half, reserved_[quick]);
  }
  /// Free slots that quick entities may use, or those that are not.
  unsigned free_for(bool quick) const { return std::min(free(), unreserved() + reserved(quick)); }

 private:
  unsigned reserve() const { return total_ / 8; }

  unsigned total_;
  unsigned used_ = 0;
  std::array<unsigned, 2> reserved_{};  // of used_, by half
};

}  // namespace dispatcher
