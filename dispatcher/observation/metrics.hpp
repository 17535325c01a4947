// The dispatcher's metrics (docs/observability.md#metrics). Any thread may count without a lock.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/delivery/result.hpp"
#include "lib/metrics/table.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/session/error_stats.hpp"

namespace dispatcher {

/// How an attempt ended. Failures are grouped by what has to be corrected. The set is fixed: receivers cannot
/// add series.
enum class OutcomeClass {
  delivered,
  http_3xx,
  http_4xx,  // except 410 and 429
  http_410,
  http_429,
  http_5xx,
  bad_response,  // connection closed, head too long, not HTTP, or an impossible status
  timeout,
  connection,
  tls,
  name,
  address,  // our policy refuses the port, or all addresses of the host
  local,    // this host could not send the request
  outage,   // the attempt met silence in an outage of our own
  sandbox,  // delivery.sandbox has kept it from being sent
};
std::string_view label(OutcomeClass outcome);
/// `attempt` must have been started: its transport is not TransportResult::not_started. Pure.
OutcomeClass outcome_class(const delivery::Attempt& attempt);

/// In the order of queue_gauges() (metrics.cpp).
enum class QueueGauge {
  pending_notifications,
  rejected_notifications,
  pending,
  in_flight,
  held,
  failed,
  oldest_notification,
  oldest_delivery,
  look_duration,
  numbers_left,
  clock_jump,
  paused_parts,
  past_half,
  past_nine_tenths,
  changing_entities,
  waiting_notices,
  sent_notices,
  given_up_notices,
  oldest_notice,
  refused_addresses
};

class Metrics {
 public:
  Metrics();

  void count_attempt(const delivery::Attempt& attempt) const;
  void count_result(const delivery::DeliveryResult& delivery_result) const;
  /// Counts deliveries that became fallida because they were held for too long, not by an attempt.
  void count_given_up(std::uint64_t count) const { deliveries_[1].add(count); }
  void count_error(store::ErrorKind kind) const;

  metrics::Table table;

  metrics::Gauge in_flight;
  metrics::Gauge unrecorded;
  metrics::Gauge locked;  // notifications
  metrics::Gauge database_up;
  metrics::Gauge paused;
  metrics::Gauge sandbox;
  std::vector<metrics::Gauge> outages;  // by store::OutageKind
  metrics::Counter rounds;
  metrics::Counter slow_tasks;
  metrics::Counter processed;
  metrics::Counter rejected;
  metrics::Counter deactivated;
  /// Counts each failed decryption of a secret or of test data, so it can count one delivery several times.
  /// deliveries_ counts that delivery once, when it becomes held.
  metrics::Counter unreadable;
  metrics::Counter leases_recovered;

  std::vector<metrics::Gauge> queue;  // at the last look, by QueueGauge; NaN while unknown

 private:
  static std::vector<metrics::Counter> counters_of(const metrics::Table& table, std::string_view name,
                                                   std::size_t count);

  std::vector<metrics::Counter> attempts_;      // by OutcomeClass
  std::vector<metrics::Counter> local_faults_;  // by delivery::LocalFault, without `none`
  std::array<metrics::Histogram, 2> durations_;
  std::vector<metrics::Counter> deliveries_;
  metrics::Counter retries_;
  std::vector<metrics::Counter> errors_;
};

}  // namespace dispatcher
