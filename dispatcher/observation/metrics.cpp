#include "dispatcher/observation/metrics.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace dispatcher {

namespace {

using namespace std::chrono_literals;
using metrics::Labels;
using metrics::Metric;
using Kind = Metric::Kind;
using delivery::DeliveryState;
using delivery::TransportResult;

constexpr std::array<std::string_view, 15> outcome_labels{
    "delivered",  "http_3xx", "http_4xx", "http_410", "http_429", "http_5xx", "bad_response", "timeout",
    "connection", "tls",      "name",     "address",  "local",    "outage",   "sandbox"};

std::vector<Labels> series(const std::string& name, const std::vector<std::string_view>& values) {
  std::vector<Labels> result;
  result.reserve(values.size());
  for (const auto value : values) result.push_back({{name, std::string(value)}});
  return result;
}

/// The lowest bound suits a near receiver on a kept connection; the highest is the longest delivery.timeout
/// allowed.
const std::vector<std::chrono::microseconds> attempt_bounds{
    5ms, 10ms, 25ms, 50ms, 100ms, 250ms, 500ms, 1s, 2500ms, 5s, 10s, 15s, 30s, 60s, 2min, 5min};

std::vector<Metric> counters() {
  return {
      {Kind::counter, "apientidades_attempts_total", "Ended attempts, by outcome.",
       series("outcome", {outcome_labels.begin(), outcome_labels.end()})},
      {Kind::counter, "apientidades_local_faults_total",
       "Attempts that a fault of this host has ended, by the fault: a system call's error, the CA file, or a "
       "time in which the process did not run (stopped).",
       series("fault", {delivery::local_fault_names.begin() + 1, delivery::local_fault_names.end()})},
      {Kind::histogram, "apientidades_attempt_duration_seconds",
       "Duration of attempts, including name lookup and connection, by result.",
       series("result", {"delivered", "failed"}), attempt_bounds},
      {Kind::counter, "apientidades_deliveries_total",
       "Deliveries recorded as finished or held, by state: entregada, fallida (retry schedule exhausted, or "
       "held for too long), retenida (secret or test data that cannot be decrypted).",
       series("state", {"entregada", "fallida", "retenida"})},
      {Kind::counter, "apientidades_retries_total", "Failed attempts after which a retry was scheduled."},
      {Kind::counter, "apientidades_notifications_total",
       "Notifications taken from the queue, by state: procesada (fanned out), rechazada (rejected).",
       series("state", {"procesada", "rechazada"})},
      {Kind::counter, "apientidades_webhooks_deactivated_total",
       "Webhooks deactivated automatically, after a 410 or a failure streak of delivery.disable_after."},
      {Kind::counter, "apientidades_unreadable_total",
       "Times that a secret or the data of a test event could not be decrypted, each try counted."},
      {Kind::counter, "apientidades_leases_recovered_total",
       "Deliveries with an expired lease that were made pending again."},
      {Kind::counter, "apientidades_database_errors_total",
       "Failed statements, by kind: unavailable (no connection), conflict (deadlock, lock wait, "
       "certification), refused (any other error).",
       series("kind", {store::error_kinds.begin(), store::error_kinds.end()})},
      {Kind::counter, "apientidades_rounds_total",
       "Rounds of the main loop. A flat counter means that the loop is stuck."},
      {Kind::counter, "apientidades_slow_tasks_total",
       "Tasks of the main loop that took a second or longer, while all others waited, and did not find the "
       "database away. The log names each."},
  };
}

std::vector<Metric> gauges() {
  return {
      {Kind::gauge,
       "apientidades_build_info",
       "Always 1; the label has the version.",
       {{{"version", APIENTIDADES_VERSION}}}},
      {Kind::gauge, "apientidades_in_flight", "Deliveries that this dispatcher is sending or about to send."},
      {Kind::gauge, "apientidades_unsettled", "Results of attempts not yet recorded in the database."},
      {Kind::gauge, "apientidades_notifications_locked",
       "Notifications that another session has kept locked for a minute or longer, as far as this dispatcher "
       "has tried them."},
      {Kind::gauge, "apientidades_database_up", "1 if the database answered in the last round, otherwise 0."},
      {Kind::gauge, "apientidades_paused", "1 if queue pause has stopped all sending, otherwise 0."},
      {Kind::gauge, "apientidades_sandbox",
       "1 if delivery.sandbox keeps deliveries from being sent, otherwise 0."},
      {Kind::gauge, "apientidades_outage",
       "1 during an outage of the service itself, by kind: no receiver answers (red), no name server answers "
       "(dns).",
       series("kind", {store::outage_kind_names.begin(), store::outage_kind_names.end()})},
  };
}

std::vector<Metric> queue_gauges() {
  return {
      {Kind::gauge, "apientidades_queue_notifications",
       "Notifications in the table, by state, counted up to 100000 at the last look at the queue. Every "
       "dispatcher of a database has the same value.",
       series("state", {"pendiente", "rechazada"})},
      {Kind::gauge, "apientidades_queue_deliveries",
       "Deliveries in the table, by state, counted up to 100000 at the last look at the queue. Every "
       "dispatcher of a database has the same value.",
       series("state", {"pendiente", "en_curso", "retenida", "fallida"})},
      {Kind::gauge, "apientidades_queue_oldest_seconds",
       "Age of the oldest pending notification, and how long the most overdue delivery has been due, without "
       "webhooks that rest or are paused on their own; at the last look at the queue.",
       series("of", {"notification", "delivery"})},
      {Kind::gauge, "apientidades_queue_look_seconds", "Duration of the last look at the queue."},
      {Kind::gauge, "apientidades_notification_numbers_left",
       "Ids left for notifications. With none left, every INSERT of a notification fails."},
      {Kind::gauge, "apientidades_clock_jump_seconds",
       "Seconds by which the database's clock has jumped (negative: back), until the operator accepts it. "
       "Nothing is purged during that time."},
      {Kind::gauge, "apientidades_paused_parts",
       "Entities, webhooks and hosts that queue pause has stopped, at the last look at the queue."},
      {Kind::gauge, "apientidades_webhooks_near_deactivation",
       "Active webhooks with a failure streak of at least this share of delivery.disable_after, at the last "
       "look at the queue. Every dispatcher of a database has the same value.",
       series("share", {"0.5", "0.9"})},
      {Kind::gauge, "apientidades_entities_changing_webhooks",
       "Entities that changed a webhook within an hour, up to 100, at the last look at the queue."},
      {Kind::gauge, "apientidades_notices",
       "Notices by mail, at the last look at the queue, by state: waiting, sent in the last 24 h, and "
       "given_up in the last three days (to confirmed addresses that are not refused). Every dispatcher of a "
       "database has the same value.",
       series("state", {"waiting", "sent", "given_up"})},
      {Kind::gauge, "apientidades_notices_oldest_seconds",
       "How long the oldest notice is due or under way, at the last look at the queue; 0: none is."},
      {Kind::gauge, "apientidades_addresses_refused",
       "Addresses of contacts that the mail server has refused for good, at the last look at the queue."},
  };
}

std::vector<Metric> all() {
  auto result = counters();
  std::ranges::move(gauges(), std::back_inserter(result));
  std::ranges::move(queue_gauges(), std::back_inserter(result));
  return result;
}

OutcomeClass class_of_status(int status) {
  if (status == 410) return OutcomeClass::http_410;
  if (status == 429) return OutcomeClass::http_429;
  switch (status / 100) {
    case 2:
      return OutcomeClass::delivered;
    case 3:
      return OutcomeClass::http_3xx;
    case 4:
      return OutcomeClass::http_4xx;
    case 5:
      return OutcomeClass::http_5xx;
    default:
      return OutcomeClass::bad_response;
  }
}

}  // namespace

std::string_view label(OutcomeClass outcome) { return outcome_labels.at(static_cast<std::size_t>(outcome)); }

OutcomeClass outcome_class(const delivery::Attempt& attempt) {
  if (!attempt.counted) return OutcomeClass::outage;
  switch (attempt.transport) {
    case TransportResult::answered:
      return class_of_status(attempt.status);
    case TransportResult::not_started:
    case TransportResult::local_failure:
      return OutcomeClass::local;
    case TransportResult::sandboxed:
      return OutcomeClass::sandbox;
    case TransportResult::address_refused:
    case TransportResult::port_refused:
      return OutcomeClass::address;
    case TransportResult::name_unresolved:
      return OutcomeClass::name;
    case TransportResult::connection_failed:
    case TransportResult::connection_timeout:
      return OutcomeClass::connection;
    case TransportResult::timeout:
      return OutcomeClass::timeout;
    case TransportResult::tls_expired:
    case TransportResult::tls_untrusted:
    case TransportResult::tls_wrong_name:
    case TransportResult::tls_weak:
    case TransportResult::tls_wrong_purpose:
    case TransportResult::tls_client_wanted:
    case TransportResult::tls_failed:
      return OutcomeClass::tls;
    case TransportResult::closed:
    case TransportResult::headers_too_long:
    case TransportResult::bad_response:
      return OutcomeClass::bad_response;
  }
  return OutcomeClass::bad_response;
}

Metrics::Metrics()
    : table(all()),
      in_flight(table.gauge("apientidades_in_flight")),
      unrecorded(table.gauge("apientidades_unsettled")),
      locked(table.gauge("apientidades_notifications_locked")),
      database_up(table.gauge("apientidades_database_up")),
      paused(table.gauge("apientidades_paused")),
      sandbox(table.gauge("apientidades_sandbox")),
      outages{table.gauge("apientidades_outage", 0), table.gauge("apientidades_outage", 1)},
      rounds(table.counter("apientidades_rounds_total")),
      slow_tasks(table.counter("apientidades_slow_tasks_total")),
      processed(table.counter("apientidades_notifications_total", 0)),
      rejected(table.counter("apientidades_notifications_total", 1)),
      deactivated(table.counter("apientidades_webhooks_deactivated_total")),
      unreadable(table.counter("apientidades_unreadable_total")),
      leases_recovered(table.counter("apientidades_leases_recovered_total")),
      attempts_(counters_of(table, "apientidades_attempts_total", outcome_labels.size())),
      local_faults_(
          counters_of(table, "apientidades_local_faults_total", delivery::local_fault_names.size() - 1)),
      durations_{table.histogram("apientidades_attempt_duration_seconds", 0),
                 table.histogram("apientidades_attempt_duration_seconds", 1)},
      deliveries_(counters_of(table, "apientidades_deliveries_total", 3)),
      retries_(table.counter("apientidades_retries_total")),
      errors_(counters_of(table, "apientidades_database_errors_total", 3)) {
  table.gauge("apientidades_build_info").set(1);
  for (const auto& metric : queue_gauges())
    for (std::size_t i = 0; i < metric.series.size(); ++i) queue.push_back(table.gauge(metric.name, i));
}

std::vector<metrics::Counter> Metrics::counters_of(const metrics::Table& table, std::string_view name,
                                                   std::size_t count) {
  std::vector<metrics::Counter> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(table.counter(name, i));
  return result;
}

void Metrics::count_attempt(const delivery::Attempt& attempt) const {
  const auto outcome = outcome_class(attempt);
  attempts_[static_cast<std::size_t>(outcome)].add();
  if (outcome == OutcomeClass::local && attempt.fault != delivery::LocalFault::none)
    local_faults_.at(static_cast<std::size_t>(attempt.fault) - 1).add();
  if (outcome == OutcomeClass::local || outcome == OutcomeClass::outage || outcome == OutcomeClass::sandbox)
    return;  // not the receiver's doing
  durations_.at(outcome == OutcomeClass::delivered ? 0 : 1).observe(attempt.duration);
}

void Metrics::count_result(const delivery::DeliveryResult& delivery_result) const {
  if (!delivery_result.counted) return;
  switch (delivery_result.state) {
    case DeliveryState::delivered:
      return deliveries_[0].add();
    case DeliveryState::failed:
      return deliveries_[1].add();
    case DeliveryState::held:
      return deliveries_[2].add();
    case DeliveryState::pending:
      if (delivery_result.kind == delivery::AttemptKind::scheduled) retries_.add();
      return;
    case DeliveryState::leased:
    case DeliveryState::cancelled:
      break;  // no attempt ends in these states
  }
}

void Metrics::count_error(store::ErrorKind kind) const { errors_[static_cast<std::size_t>(kind)].add(); }

}  // namespace dispatcher
