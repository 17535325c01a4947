// Our own outages: attempts of which nothing was heard wait here until it is known whether that is the
// receivers' fault or ours (docs/delivery.md#our-own-outages).
//
// It promises: an attempt is kept no longer than its lease allows; what is ours counts for nobody; with
// anybody answering, nothing waits.
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
#include "lib/platform/config.hpp"
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

  /// Those of `attempts`, and of those kept before, that are to be recorded now: what is ours is not
  /// `counted`.
  std::vector<Attempt> judge(std::vector<Attempt> attempts, platform::MonotonicTime now);
  /// What is kept, as if it had not been started: the service stops.
  std::vector<Attempt> give_up();
  std::size_t kept() const { return kept_.size(); }

  /// Only a few attempts should be under way, of different hosts.
  bool outage() const;

  /// Reads who has answered before this program started; writes down what has become of the outages. Throws
  /// what the store throws.
  void record(store::Session& session, platform::MonotonicTime now);

 private:
  struct Outage {
    store::OutageKind kind;
    platform::MonotonicTime since;
    std::set<delivery::DeliveryId> affected{};
    std::optional<std::int64_t> row{};  // in the database
    platform::MonotonicTime written{};
  };
  struct Side {
    store::OutageKind kind;
    Request::Purpose purpose;          // of what is asked
    platform::Milliseconds known_for;  // of hosts that answered within this time
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
  std::deque<Ended> ended_;  // and not written down yet
  bool known_read_ = false;
  platform::MonotonicTime read_again_{};
  std::string dispatcher_;  // its name in the database
};

}  // namespace dispatcher
