// Watches for our own outages. An attempt is *silent* if there was no route to the receiver, if no connection
// or no byte of an answer came in time, or if no name server gave a usable answer (delivery::Silence). Silent
// attempts are kept here until it is known whether the fault is the receivers' or ours
// (docs/delivery.md#our-own-outages).
//
// An attempt is released, at the latest, when the next sign of life comes from any receiver (or name server),
// or shortly before the attempt's lease ends. A failure in our own outage does not count against the webhook.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/outage/known_hosts.hpp"
#include "dispatcher/outage/outage_judge.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class Sender;

class OutageWatch {
 public:
  /// `metrics` and `sender` outlive this object.
  OutageWatch(const config::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics,
              Sender& sender);

  /// Takes its own checks, which are observed, out of `attempts`, and keeps the silent ones. Returns the
  /// attempts to be recorded now: the others, and kept ones that no longer have to wait. Attempt::counted is
  /// false for those that failed in our own outage.
  std::vector<Attempt> judge(std::vector<Attempt> attempts, platform::MonotonicTime now);
  /// For the end of the program: removes and returns the kept attempts, as TransportResult::not_started.
  std::vector<Attempt> give_up();
  std::size_t kept() const { return kept_.size(); }

  /// True during our own outage. Then the caller should keep only a few attempts in flight, to different
  /// hosts.
  bool outage() const;

  /// Records the outages, and reads, once, which receivers answered before the start. Throws what the store
  /// throws.
  void record(store::Session& session, platform::MonotonicTime now);

 private:
  struct Outage {
    store::OutageKind kind;
    platform::MonotonicTime since;
    std::set<delivery::DeliveryId> affected{};
    std::optional<store::OutageId> row{};  // in the database
    platform::MonotonicTime written{};
  };
  /// The network, or the name servers.
  struct Side {
    store::OutageKind kind;
    Request::Purpose purpose;          // of the checks
    platform::Milliseconds known_for;  // hosts that answered within this time are checked
    OutageJudge judge;
    std::set<std::shared_ptr<delivery::Observation>> checks{};  // under way
    std::optional<Outage> outage{};
  };
  struct Ended {
    Outage outage;
    platform::MonotonicTime at;
  };
  Side& side_of(delivery::Silence silence);
  void note(const Attempt& attempt);
  void note_check(const Attempt& check);
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
  const config::DeliverySettings settings_;
  std::array<Side, 2> sides_;
  std::vector<Attempt> kept_;
  platform::MonotonicTime judged_ = platform::monotonic_now();  // when judge() was last called
  std::deque<Ended> ended_;                                     // not recorded yet
  platform::MonotonicTime read_known_at_{};  // the first read_known(), or the next try after an error
  std::string dispatcher_;                   // this dispatcher's name in the database
};

}  // namespace dispatcher
