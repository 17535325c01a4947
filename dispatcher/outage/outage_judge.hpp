// Decides whether a silence is our own outage: if no receiver answers any more, failures are not the
// receivers' fault (docs/delivery.md#our-own-outages). There is one judge for the network and one for the
// name servers. Pure: no clock of its own.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace dispatcher {

class OutageJudge {
 public:
  struct Rule {
    unsigned places = 20;  // hosts, or names, that must be silent
    unsigned entities = 5;
    unsigned checks = 5;                  // silent ones that declare an outage, each of another entity
    platform::Milliseconds wait{10'000};  // of silence, before checks can declare an outage
    platform::Milliseconds longest{};     // of an outage; then silences are failures again; 0: no outages
  };
  static constexpr std::size_t most_places = 1024;  // remembered at once

  explicit OutageJudge(const Rule& rule) : rule_(rule) {}

  /// A sign of life came from any place. It ends every suspicion and outage that began before `at`. The times
  /// of this and of `silent` may come in any order.
  void heard(platform::MonotonicTime at);
  /// Notes when an attempt that is to be judged ended.
  void wait_for_sign(platform::MonotonicTime ended) { latest_ = std::max(latest_, ended); }
  /// An attempt at `place` ended without a sign of life.
  void silent(const std::string& place, delivery::EntityId entity, platform::MonotonicTime at);

  enum class Verdict {
    open,    // not known yet
    theirs,  // an ordinary failure
    ours,    // not counted for any webhook
  };
  /// Judges an attempt that ended without a sign of life.
  // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of time
  Verdict judge(platform::MonotonicTime began, platform::MonotonicTime ended,
                platform::MonotonicTime now) const;

  /// Tells how many entities have places that answered before. With fewer than `checks`, no outage can be
  /// declared.
  void know(std::size_t entities) { known_ = entities; }
  /// Returns how many of these places to check now, at most once a second: a few while a silence is open,
  /// because one sign of life decides it; `checks` while many places are silent, to declare an outage, and
  /// while an outage lasts.
  unsigned wanted_checks(platform::MonotonicTime now) const;
  void checking(unsigned count, platform::MonotonicTime now);
  /// A check had no sign of life; one that had is `heard`. Only checks of the last `checking` can declare an
  /// outage.
  void check_failed(platform::MonotonicTime began, platform::MonotonicTime ended);
  /// A check could not be made.
  void check_told_nothing(platform::MonotonicTime began);

  /// It has been silent since the last sign of life from any place.
  bool is_silent(const std::string& place) const { return silent_.contains(place); }

  /// When the outage began; none: there is no outage.
  std::optional<platform::MonotonicTime> outage() const { return outage_; }

 private:
  struct Place {
    delivery::EntityId entity = 0;
    platform::MonotonicTime last{};
  };
  bool suspicious() const;
  bool may_declare(platform::MonotonicTime now) const;
  void forget(platform::MonotonicTime until);

  Rule rule_;
  std::optional<platform::MonotonicTime> heard_;
  std::map<std::string, Place> silent_;           // since heard_
  std::optional<platform::MonotonicTime> first_;  // the earliest silence of these
  platform::MonotonicTime latest_{};              // end of the last attempt to be judged
  std::size_t known_ = 0;
  unsigned checking_ = 0;    // checks in progress
  unsigned failed_ = 0;      // silent checks of this suspicion
  bool unknowable_ = false;  // too few known places could be checked
  platform::MonotonicTime checked_{};
  std::optional<platform::MonotonicTime> outage_;
  platform::MonotonicTime last_outage_until_{};
};

}  // namespace dispatcher
