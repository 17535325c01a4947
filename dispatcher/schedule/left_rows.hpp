// Rows that are skipped for a while. Pure bookkeeping.
#pragma once

#include <utility>

namespace dispatcher {

/// Decides how long to skip the rows of one webhook that are left to a newer release. The dispatcher reads
/// the waiting rows in their order, a batch at a time, and goes on past such rows; that is the walk. Every 5
/// s, a look makes reads begin at the first row again. The first few looks after a walk are an exception:
/// reads still begin behind the skipped rows. Otherwise the reads after every look would find these rows
/// first, and might never reach later ones.
class LeftRows {
 public:
  /// A batch was read. `some`: it has rows to be skipped; otherwise the walk past such rows is over.
  void note(bool some) {
    if (!some) return ended();
    passing_ = true;
  }
  /// The walk has reached the last row that waits.
  void ended() {
    if (!std::exchange(passing_, false)) return;
    if (looks_to_skip_ == 0) looks_to_skip_ = left_looks;  // a later walk must not delay reading them again
    looks_to_forget_ = looks_to_skip_ + 3;
  }
  /// Counts one look. True: the rows are to be read from the first one again.
  bool look_again() {
    if (passing_) return false;
    if (looks_to_forget_ > 0) --looks_to_forget_;
    return looks_to_skip_ == 0 || --looks_to_skip_ == 0;
  }
  /// True: rows are being skipped.
  bool known() const { return looks_to_skip_ > 0; }
  /// True: this object must be kept, also for a few looks after it has ceased to skip rows: otherwise the
  /// next refusal would count as the first.
  bool active() const { return passing_ || looks_to_forget_ > 0; }

 private:
  static constexpr unsigned left_looks = 6;  // half a minute

  bool passing_ = false;
  unsigned looks_to_skip_ = 0;
  unsigned looks_to_forget_ = 0;
};

}  // namespace dispatcher
