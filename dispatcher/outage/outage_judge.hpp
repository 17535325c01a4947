// Whether it is us: when nobody at all answers any more, what fails is not the receivers' fault
// (docs/delivery.md#our-own-outages). One judge for the network, one for name servers. Pure: no clock of its
// own.
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
    unsigned places = 20;  // hosts, or names
    unsigned entities = 5;
    unsigned checks = 5;                  // places of different entities that worked before, and do not now
    platform::Milliseconds wait{10'000};  // of silence, before it is checked
    platform::Milliseconds longest{};     // beyond that they are failures again; 0: none is ever declared
  };
  static constexpr std::size_t most_places = 1024;  // remembered

  explicit OutageJudge(const Rule& rule) : rule_(rule) {}

  /// Something came back from somebody: it ends all suspicion, and an outage, that began before. Times of
  /// this and of `silent` may come in any order.
  void heard(platform::MonotonicTime at);
  /// An attempt ended that is to be judged.
  void wait_for_sign(platform::MonotonicTime ended) { latest_ = std::max(latest_, ended); }
  /// It ended without a sign of life from a place that has given them.
  void silent(const std::string& place, delivery::EntityId entity, platform::MonotonicTime at);

  enum class Verdict {
    open,    // not known yet
    theirs,  // a failure like any other
    ours,    // it counts for nobody
  };
  /// Of an attempt that ended silent.
  Verdict judge(platform::MonotonicTime began, platform::MonotonicTime ended,
                platform::MonotonicTime now) const;

  /// So many entities have places that worked before. With fewer than `checks` no outage can be told.
  void know(std::size_t entities) { known_ = entities; }
  /// So many of these places should be asked now, once a second at most: a few as long as somebody's silence
  /// is open, since one sign of life settles that at once; `checks`, while many are silent, to declare an
  /// outage, and while it lasts.
  unsigned wanted_checks(platform::MonotonicTime now) const;
  void checking(unsigned count, platform::MonotonicTime now);
  /// One of them gave no sign of life; one that did is `heard`. Only those of `checking` for a declaration
  /// count for it.
  void check_failed(platform::MonotonicTime began, platform::MonotonicTime ended);
  /// One of them could not be asked.
  void check_told_nothing(platform::MonotonicTime began);

  /// Nothing has come from it since anything came from anybody.
  bool is_silent(const std::string& place) const { return silent_.contains(place); }

  /// Since when; none: there is no outage.
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
  std::map<std::string, Place> silent_;           // since then
  std::optional<platform::MonotonicTime> first_;  // of those
  platform::MonotonicTime latest_{};              // of what is to be judged
  std::size_t known_ = 0;
  unsigned checking_ = 0;    // under way
  unsigned failed_ = 0;      // of the suspicion
  bool unknowable_ = false;  // too few places are known
  platform::MonotonicTime checked_{};
  std::optional<platform::MonotonicTime> outage_;
  platform::MonotonicTime last_outage_until_{};
};

}  // namespace dispatcher
