#include "dispatcher/observation/metrics.hpp"

#include <array>

namespace dispatcher {

namespace {

using namespace std::chrono_literals;
using metrics::Labels;
using metrics::Metric;
using Kind = Metric::Kind;
using delivery::DeliveryState;
using delivery::TransportResult;

constexpr std::array<std::string_view, 13> outcome_labels{
    "delivered", "http_3xx",   "http_4xx", "http_410", "http_429", "http_5xx", "bad_response",
    "timeout",   "connection", "tls",      "name",     "address",  "local"};

std::vector<Labels> series(const std::string& name, const std::vector<std::string_view>& values) {
  std::vector<Labels> result;
  result.reserve(values.size());
  for (const auto value : values) result.push_back({{name, std::string(value)}});
  return result;
}

/// From a near receiver on a kept connection to the longest time-out.
const std::vector<std::chrono::microseconds> attempt_bounds{5ms, 10ms,   25ms, 50ms, 100ms, 250ms, 500ms,
                                                            1s,  2500ms, 5s,   10s,  15s,   30s,   60s};

std::vector<Metric> counters() {
  return {
      {Kind::counter, "apientidades_attempts_total", "Delivery attempts that ended, by how.",
       series("outcome", {outcome_labels.begin(), outcome_labels.end()})},
      {Kind::histogram, "apientidades_attempt_duration_seconds",
       "How long delivery attempts took, name lookup and connection included, by whether they delivered.",
       series("result", {"delivered", "failed"}), attempt_bounds},
      {Kind::counter, "apientidades_deliveries_total",
       "Deliveries that came to rest here, once recorded, by the state they came to: entregada, fallida "
       "(schedule exhausted), retenida (secret that cannot be read).",
       series("state", {"entregada", "fallida", "retenida"})},
      {Kind::counter, "apientidades_retries_total", "Failed attempts after which a retry was scheduled."},
      {Kind::counter, "apientidades_notifications_total",
       "Notifications dealt with, by the state they came to: procesada (its deliveries were made), "
       "rechazada.",
       series("state", {"procesada", "rechazada"})},
      {Kind::counter, "apientidades_webhooks_deactivated_total",
       "Webhooks deactivated automatically: a 410, or nothing but failures for delivery.disable_after."},
      {Kind::counter, "apientidades_leases_recovered_total",
       "Deliveries taken back from a dispatcher that let its lease expire: each is attempted again."},
      {Kind::counter, "apientidades_database_errors_total",
       "Statements that failed: unavailable (no connection), conflict (deadlock, lock wait, certification; "
       "run again), "
       "refused (anything else).",
       series("kind", {store::error_kinds.begin(), store::error_kinds.end()})},
      {Kind::counter, "apientidades_rounds_total",
       "Rounds of the loop, which fetches from the database: a flat counter means that the loop is stuck."},
  };
}

std::vector<Metric> gauges() {
  return {
      {Kind::gauge,
       "apientidades_build_info",
       "Always 1; the label tells the version.",
       {{{"version", APIENTIDADES_VERSION}}}},
      {Kind::gauge, "apientidades_in_flight", "Deliveries that this dispatcher holds for sending."},
      {Kind::gauge, "apientidades_unsettled", "Results of attempts not yet recorded in the database."},
      {Kind::gauge, "apientidades_database_up", "Whether the database answered in the last round."},
      {Kind::gauge, "apientidades_paused", "Whether all sending is stopped by queue pause."},
      {Kind::gauge, "apientidades_outage",
       "Whether this dispatcher sees an outage of the service itself: nobody answers (red), or no name "
       "server "
       "(dns).",
       series("kind", {store::outage_kind_names.begin(), store::outage_kind_names.end()})},
      {Kind::gauge, "apientidades_queue_notifications",
       "Notifications in the table, by state; counted up to 100000, every metrics.queue_interval or less "
       "often; the "
       "same from every dispatcher of a database.",
       series("state", {"pendiente", "rechazada"})},
      {Kind::gauge, "apientidades_queue_deliveries",
       "Deliveries in the table, by state; counted up to 100000, every metrics.queue_interval or less often; "
       "the same "
       "from every dispatcher of a database.",
       series("state", {"pendiente", "en_curso", "retenida", "fallida"})},
      {Kind::gauge, "apientidades_queue_oldest_seconds",
       "Age of the oldest notification that is pending, and of the delivery that has been due for longest, "
       "of receivers that rest after a 429 apart; as of the last look.",
       series("of", {"notification", "delivery"})},
      {Kind::gauge, "apientidades_queue_look_seconds", "What the last look at the queue took."},
      {Kind::gauge, "apientidades_notification_numbers_left",
       "How many notifications can still be numbered: with none left, nobody can insert one."},
      {Kind::gauge, "apientidades_clock_jump_seconds",
       "By how much the database's clock has jumped forward, until it is accepted or right again: nothing is "
       "purged."},
      {Kind::gauge, "apientidades_webhooks_near_deactivation",
       "Active webhooks that have had nothing but failures for so much of delivery.disable_after, or more; "
       "as "
       "of the last look, the same from every dispatcher of a database.",
       series("share", {"0.5", "0.9"})},
      {Kind::gauge, "apientidades_entities_changing_webhooks",
       "Entities that have changed a webhook in the last hour, up to 100; as of the last look."},
  };
}

std::vector<Metric> all() {
  auto result = counters();
  for (auto& gauge : gauges()) result.push_back(std::move(gauge));
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
  if (!attempt.counted) return OutcomeClass::local;
  switch (attempt.transport) {
    case TransportResult::answered:
      return class_of_status(attempt.status);
    case TransportResult::not_started:
    case TransportResult::local_failure:
      return OutcomeClass::local;
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
      database_up(table.gauge("apientidades_database_up")),
      paused(table.gauge("apientidades_paused")),
      outages{table.gauge("apientidades_outage", 0), table.gauge("apientidades_outage", 1)},
      rounds(table.counter("apientidades_rounds_total")),
      processed(table.counter("apientidades_notifications_total", 0)),
      rejected(table.counter("apientidades_notifications_total", 1)),
      deactivated(table.counter("apientidades_webhooks_deactivated_total")),
      leases_recovered(table.counter("apientidades_leases_recovered_total")),
      queue{table.gauge("apientidades_queue_notifications", 0),
            table.gauge("apientidades_queue_notifications", 1),
            table.gauge("apientidades_queue_deliveries", 0),
            table.gauge("apientidades_queue_deliveries", 1),
            table.gauge("apientidades_queue_deliveries", 2),
            table.gauge("apientidades_queue_deliveries", 3),
            table.gauge("apientidades_queue_oldest_seconds", 0),
            table.gauge("apientidades_queue_oldest_seconds", 1),
            table.gauge("apientidades_queue_look_seconds"),
            table.gauge("apientidades_notification_numbers_left"),
            table.gauge("apientidades_clock_jump_seconds"),
            table.gauge("apientidades_webhooks_near_deactivation", 0),
            table.gauge("apientidades_webhooks_near_deactivation", 1),
            table.gauge("apientidades_entities_changing_webhooks")},
      attempts_(counters_of(table, "apientidades_attempts_total", outcome_labels.size())),
      durations_{table.histogram("apientidades_attempt_duration_seconds", 0),
                 table.histogram("apientidades_attempt_duration_seconds", 1)},
      deliveries_(counters_of(table, "apientidades_deliveries_total", 3)),
      retries_(table.counter("apientidades_retries_total")),
      errors_(counters_of(table, "apientidades_database_errors_total", 3)) {
  table.gauge("apientidades_build_info").set(1);
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
  if (outcome == OutcomeClass::local) return;  // it was not sent
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
      break;  // no attempt ends so
  }
}

void Metrics::count_error(store::ErrorKind kind) const { errors_[static_cast<std::size_t>(kind)].add(); }

}  // namespace dispatcher
