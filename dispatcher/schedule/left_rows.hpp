// Rows that are skipped for a while. Pure bookkeeping.
#pragma once

#include <algorithm>
#include <utility>

namespace dispatcher {

/// The rows of a webhook or entity that are left to a newer version, or that the database refuses. They are
/// skipped together and read again only after a while: otherwise every look would find them first, and never
/// what is behind them.
class LeftRows {
 public:
  /// A batch was read. `some`: it has rows to be left; otherwise the walk past such rows is over.
  void note(bool some) {
    if (!some) return ended();
    passing_ = true;
    looks_ = left_looks;
  }
  /// A row was refused. It is read again soon; each further refusal doubles the time until then, up to
  /// most_looks.
  void note_refused() {
    passing_ = true;
    looks_ = refused_looks_;
    refused_again_ = true;
  }
  /// The walk has reached the last row that waits.
  void ended() {
    if (!std::exchange(passing_, false)) return;
    if (looks_to_skip_ == 0) looks_to_skip_ = looks_;  // a later walk does not delay it
    refused_looks_ = std::exchange(refused_again_, false) ? std::min(2 * refused_looks_, most_looks) : 1;
    looks_to_forget_ = looks_to_skip_ + 3;
  }
  /// True: the next look begins at the first row again.
  bool look_again() {
    if (passing_) return false;
    if (looks_to_forget_ > 0) --looks_to_forget_;
    return looks_to_skip_ == 0 || --looks_to_skip_ == 0;
  }
  bool known() const { return looks_to_skip_ > 0; }
  /// True: there is something to remember. It stays so for a few looks after the rows are read again;
  /// otherwise the next refusal would count as the first one.
  bool active() const { return passing_ || looks_to_forget_ > 0; }

 private:
  static constexpr unsigned left_looks = 6;  // of QueueScanner: half a minute
  static constexpr unsigned most_looks = 16;

  bool passing_ = false;
  bool refused_again_ = false;
  unsigned looks_ = left_looks;  // to skip after the walk
  unsigned looks_to_skip_ = 0;
  unsigned refused_looks_ = 1;
  unsigned looks_to_forget_ = 0;
};

}  // namespace dispatcher
