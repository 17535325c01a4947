// Holds the results of attempts until they are recorded in the database.
//
// A result is kept while the database is away or refuses all results. A refused result or a locked row delays
// only its own webhook: the results of that webhook are postponed (wait apart), and brought back a few at a
// time. Used by one thread.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/observation/once_per_minute.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/deliveries/results.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class ResultBuffer {
 public:
  /// `metrics` outlives this object.
  ResultBuffer(const config::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);

  /// Takes an attempt; record() then records its result. If the attempt is not_started, record() only
  /// releases its lease. A local_failure is counted and logged, but not recorded; its lease is released if
  /// this process had stopped.
  void add(const delivery::Attempt& attempt);
  /// Takes a delivery to record as held.
  void hold(const delivery::HeldDelivery& held);

  /// Records a batch of results and releases leases. What fails is kept for a later call, with two
  /// exceptions: a lease that the database refuses to release is given up, and so is a refused result if
  /// others were recorded since its first refusal. Returns true if a result was recorded or given up, or a
  /// lease released or given up: there may be more to do. Throws store::Unavailable and store::Conflict.
  /// When it releases leases, throws any other error too, except store::Refused.
  bool record(store::Session& session);

  /// To be called at least once a minute: logs the attempts that faults of this host have ended, for each
  /// fault one line a minute at most. `stopping`: logs the rest.
  void report_local_faults(bool stopping);

  /// True: the database refuses all results (ResultWriter::refusing).
  bool refused() const { return refused_; }

  /// A result that is recorded or given up, a lease that is released, or an attempt that this host could not
  /// make. Each is returned once.
  struct Done {
    delivery::WebhookId webhook;
    delivery::EntityId entity;
    std::optional<platform::Milliseconds> wait;  // until the delivery is due again; none: not known, or never
  };
  std::vector<Done> take_done() { return std::exchange(done_, {}); }

  /// Results not recorded and leases not released.
  std::size_t waiting() const { return unrecorded_.size() + postponed_results_ + unreleased_.size(); }
  /// The postponed results, which waiting() includes.
  std::size_t postponed() const { return postponed_results_; }
  /// The deliveries whose results are not recorded.
  std::vector<delivery::DeliveryId> unrecorded() const;

 private:
  using Batch = std::vector<delivery::DeliveryResult>;
  struct Postponed {
    Batch results;
    platform::Milliseconds wait{};  // the last wait
    platform::MonotonicTime until{};
    bool tried = false;  // brought back: the results are in unrecorded_
  };
  /// The attempts that one fault of this host has ended.
  struct LocalFaults {
    OncePerMinute attempts;
    delivery::DeliveryId delivery;  // of one of these attempts
    delivery::WebhookId webhook;
  };
  void note_local_fault(const delivery::Attempt& attempt);
  store::FailurePolicy policy() const;
  void enqueue(const delivery::DeliveryResult& delivery_result);
  Batch next_batch();
  bool write(store::Session& session, const Batch& batch);
  bool write_isolated(store::Session& session, const Batch& batch);
  bool settle(const Batch& batch, const store::RecordSummary& summary);
  void postpone(const delivery::DeliveryResult& delivery_result, platform::Milliseconds wait);
  void postpone_locked(const delivery::DeliveryResult& delivery_result);
  void bring_back(platform::MonotonicTime now);
  void bring_back(Postponed& postponed);
  bool refuse(const delivery::DeliveryResult& delivery_result);
  void finish(const delivery::DeliveryResult& delivery_result);
  void forget(const Batch& batch);
  bool release(store::Session& session, platform::MonotonicTime now);
  void report(const Batch& recorded, const store::RecordSummary& summary) const;
  void log_attempt(const delivery::Attempt& attempt, const delivery::DeliveryResult& delivery_result) const;

  config::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  std::array<LocalFaults, delivery::local_fault_names.size()> local_faults_{};
  std::mt19937_64 random_;
  std::deque<delivery::DeliveryResult> unrecorded_;   // without the postponed results
  std::vector<delivery::LeasedDelivery> unreleased_;  // not started, with leases to release
  platform::MonotonicTime next_release_{};
  std::vector<Done> done_;
  std::map<delivery::WebhookId, Postponed> postponed_;
  std::multimap<platform::MonotonicTime, delivery::WebhookId> brought_back_at_;  // entries may be out of date
  std::size_t postponed_results_ = 0;
  std::uint64_t written_ = 0;                               // batches recorded so far
  std::map<delivery::DeliveryId, std::uint64_t> refusals_;  // the value of written_ at the first refusal
  bool refused_ = false;
  platform::MonotonicTime next_try_{};  // while refused_
};

}  // namespace dispatcher
