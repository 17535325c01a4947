// Watches for our own outages: attempts without a sign of life wait here until it is known whether the fault
// is the receivers' or ours (docs/delivery.md#our-own-outages).
//
// It promises: an attempt is kept no longer than its lease allows; a failure that is ours is not counted;
// nothing waits while any receiver answers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/outage/known_hosts.hpp"
#include "dispatcher/outage/outage_judge.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/backlog/outages.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class Sender;

class OutageWatch {
 public:
  /// `metrics` and `sender` outlive it.
  OutageWatch(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics,
              Sender& sender);

  /// Returns the attempts, new or kept before, that are to be recorded now. Those that failed in our outage
  /// are not `counted`.
  std::vector<Attempt> judge(std::vector<Attempt> attempts, platform::MonotonicTime now);
  /// Returns the kept attempts as not_started, for the end of the service.
  std::vector<Attempt> give_up();
  std::size_t kept() const { return kept_.size(); }

  /// True: only a few attempts to different hosts should be in flight.
  bool outage() const;

  /// Reads which receivers answered before this program started, and records the outages. Throws what the
  /// store throws.
  void record(store::Session& session, platform::MonotonicTime now);

 private:
  struct Outage {
    store::OutageKind kind;
    platform::MonotonicTime since;
    std::set<delivery::DeliveryId> affected{};
    std::optional<store::OutageId> row{};  // in the database
    platform::MonotonicTime written{};
  };
  struct Side {
    store::OutageKind kind;
    Request::Purpose purpose;          // of its checks
    platform::Milliseconds known_for;  // hosts that answered within this time are checked
    OutageJudge judge;
    std::optional<Outage> outage{};
  };
  struct Ended {
    Outage outage;
    platform::MonotonicTime at;
  };
  Side& side_of(delivery::Silence silence);
  void note(const Attempt& attempt);
  void read_checks();
  void begin_checks(Side& side, platform::MonotonicTime now);
  void follow(Side& side, platform::MonotonicTime now);
  void read_known(store::Session& session, platform::MonotonicTime now);
  void write(store::Session& session, Outage& outage, platform::MonotonicTime now,
             std::optional<platform::MonotonicTime> ended);
  void release_judged(platform::MonotonicTime now, std::vector<Attempt>& into);

  platform::Log log_;
  const Metrics& metrics_;
  Sender& sender_;
  std::mt19937_64 random_;
  KnownHosts hosts_;
  const platform::DeliverySettings settings_;
  std::array<Side, 2> sides_;
  std::vector<Attempt> kept_;
  std::deque<Ended> ended_;  // not recorded yet
  bool known_read_ = false;
  platform::MonotonicTime read_again_{};
  std::string dispatcher_;  // this dispatcher's name in the database
};

}  // namespace dispatcher
