// Rows that are passed over for a while. Pure bookkeeping.
#pragma once

#include <algorithm>
#include <utility>

namespace dispatcher {

/// The rows of a webhook or entity that are left to a newer version, or that the database refuses: they are
/// passed over in one go, and looked at again only after a while. They would be found at every look
/// otherwise, and what lies behind them never.
class LeftRows {
 public:
  /// A batch was looked at: with `some` to be left, or without, which ends the walk past them.
  void note(bool some) {
    if (!some) return ended();
    passing_ = true;
    looks_ = left_looks;
  }
  /// One was refused: looked at again sooner at first, and later each time.
  void note_refused() {
    passing_ = true;
    looks_ = refused_looks_;
    refused_again_ = true;
  }
  /// The end of what waits is reached.
  void ended() {
    if (!std::exchange(passing_, false)) return;
    if (looks_to_skip_ == 0) looks_to_skip_ = looks_;  // not put off by what is left meanwhile
    refused_looks_ = std::exchange(refused_again_, false) ? std::min(2 * refused_looks_, most_looks) : 1;
    looks_to_forget_ = looks_to_skip_ + 3;
  }
  /// Whether a look begins at the start again.
  bool look_again() {
    if (passing_) return false;
    if (looks_to_forget_ > 0) --looks_to_forget_;
    return looks_to_skip_ == 0 || --looks_to_skip_ == 0;
  }
  bool known() const { return looks_to_skip_ > 0; }
  /// There is something to remember: also for a while after they are looked at again, or the next refusal
  /// would be the first one.
  bool active() const { return passing_ || looks_to_forget_ > 0; }

 private:
  static constexpr unsigned left_looks = 6;  // of QueueScanner's: half a minute
  static constexpr unsigned most_looks = 16;

  bool passing_ = false;
  bool refused_again_ = false;
  unsigned looks_ = left_looks;  // to skip once they are passed
  unsigned looks_to_skip_ = 0;
  unsigned refused_looks_ = 1;
  unsigned looks_to_forget_ = 0;
};

}  // namespace dispatcher
