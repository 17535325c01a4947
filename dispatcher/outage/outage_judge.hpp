// Decides whether a silence is our own outage: if no receiver answers, failures are not the receivers' fault
// (docs/delivery.md#our-own-outages). One judge is for the network, one for the name servers. A place is a
// host. A place becomes silent when an attempt or a check ends without a sign of life, and stays silent until
// any place gives a sign of life. Enough silent places (Rule) are a suspicion. Pure: no clock of its own.
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
    unsigned places = 20;                    // silent places that make a suspicion
    unsigned entities = 5;                   // entities to which these places must belong, at least
    unsigned checks = 5;                     // failed checks, of different entities, that declare an outage
    platform::Milliseconds shortest{2'000};  // length of the silence before checks can declare an outage
    platform::Milliseconds wait{10'000};     // how long a verdict stays open while fewer places are silent
    platform::Milliseconds longest{};  // in an outage longer than this, silent attempts fail; 0: no outages
  };
  static constexpr std::size_t most_places = 1024;  // remembered at once

  explicit OutageJudge(const Rule& rule) : rule_(rule) {}

  /// Notes a sign of life from any place: ends an outage that began before `at`, and forgets the silences
  /// up to `at`. The times of heard() and silent() may come in any order.
  void heard(platform::MonotonicTime at);
  /// Notes that an attempt that ended at `ended` waits for its verdict.
  void wait_for_sign(platform::MonotonicTime ended) { latest_ = std::max(latest_, ended); }
  /// Notes an attempt or a check at `place` that ended without a sign of life.
  void silent(const std::string& place, delivery::EntityId entity, platform::MonotonicTime at);

  enum class Verdict {
    open,    // not known yet
    theirs,  // the receiver's fault: an ordinary failure
    ours,    // our fault: counts for no webhook
  };
  /// Judges an attempt that ended without a sign of life.
  // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in the order of time
  Verdict judge(platform::MonotonicTime began, platform::MonotonicTime ended,
                platform::MonotonicTime now) const;

  /// Notes how many entities have known places: places that have answered before. If there are fewer such
  /// entities than Rule::checks, no outage can be declared.
  void know(std::size_t entities) { known_ = entities; }
  /// Returns how many known places to check now. To declare an outage, and during one: Rule::checks. During a
  /// suspicion: more, so that a false one meets a place that answers before an outage can be declared. While
  /// only a verdict is open: a few, because one sign of life decides it. Returns 0 in the first second after
  /// checks began. Unless there is an outage, also returns 0 while checks that can declare one are in
  /// progress, for 30 s at most.
  unsigned wanted_checks(platform::MonotonicTime now) const;
  /// Notes that `count` checks begin.
  void checking(unsigned count, platform::MonotonicTime now);
  /// Notes a check without a sign of life. Only checks since the last checking() can declare an outage.
  void check_failed(platform::MonotonicTime began, platform::MonotonicTime ended);
  /// Notes a check that could not be made, or that gave no sign either way.
  void check_told_nothing(platform::MonotonicTime began);

  bool is_silent(const std::string& place) const { return silent_.contains(place); }

  /// When the outage began; nullopt: there is no outage.
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
  std::optional<platform::MonotonicTime> first_;  // the earliest silence in silent_
  platform::MonotonicTime latest_{};              // end of the last attempt to be judged
  std::size_t known_ = 0;
  unsigned checking_ = 0;    // checks in progress that can declare an outage
  unsigned failed_ = 0;      // checks that could declare an outage, and failed
  bool unknowable_ = false;  // too few known places could be checked
  platform::MonotonicTime checked_{};
  std::optional<platform::MonotonicTime> outage_;
  platform::MonotonicTime last_outage_until_{};
};

}  // namespace dispatcher
