// Rows that are skipped for a while. Pure bookkeeping.
#pragma once

#include <algorithm>
#include <utility>

namespace dispatcher {

/// Decides how long to skip the rows of one webhook or entity that are quarantined or left to a newer
/// release, or that the database refuses. The dispatcher reads the waiting rows in their order, a batch at a
/// time, and goes on past such rows; that is the walk. Every 5 s, a look makes reads begin at the first row
/// again. The first few looks after a walk are an exception: reads still begin behind the skipped rows.
/// Otherwise the reads after every look would find these rows first, and might never reach later ones.
class LeftRows {
 public:
  /// A batch was read. `some`: it has rows to be skipped; otherwise the walk past such rows is over.
  void note(bool some) {
    if (!some) return ended();
    passing_ = true;
    looks_ = left_looks;
  }
  /// A row was refused. It is read again at the next look. Each further refusal doubles the number of looks
  /// until it is read again, up to most_looks.
  void note_refused() {
    passing_ = true;
    looks_ = refused_looks_;
    refused_again_ = true;
  }
  /// The walk has reached the last row that waits.
  void ended() {
    if (!std::exchange(passing_, false)) return;
    if (looks_to_skip_ == 0) looks_to_skip_ = looks_;  // a later walk must not delay reading them again
    refused_looks_ = std::exchange(refused_again_, false) ? std::min(2 * refused_looks_, most_looks) : 1;
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
  static constexpr unsigned most_looks = 16;

  bool passing_ = false;
  bool refused_again_ = false;
  /// The number of looks after the walk until the rows are read again. 1: the first look.
  unsigned looks_ = left_looks;
  unsigned looks_to_skip_ = 0;
  unsigned refused_looks_ = 1;
  unsigned looks_to_forget_ = 0;
};

}  // namespace dispatcher
