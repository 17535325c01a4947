#include "dispatcher/observation/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "dispatcher/observation/observation.hpp"
#include "tests/unit/dispatcher_support.hpp"

BOOST_AUTO_TEST_SUITE(dispatcher_metrics)

namespace {

using namespace std::chrono_literals;
using delivery::Attempt;
using delivery::TransportResult;

Attempt ended(TransportResult result, int status = 0) {
  Attempt attempt;
  attempt.transport = result;
  attempt.status = status;
  attempt.duration = 30ms;
  return attempt;
}

std::string outcome(TransportResult result, int status = 0) {
  return std::string(label(dispatcher::outcome_class(ended(result, status))));
}

bool has(const dispatcher::Metrics& metrics, const std::string& line) {
  return metrics.table.text().find("\n" + line + "\n") != std::string::npos;
}

store::QueueStatus nothing() { return {}; }

}  // namespace

BOOST_AUTO_TEST_CASE(answers_are_classed_by_their_status) {
  for (const auto& [status, expected] : std::map<int, std::string>{{200, "delivered"},
                                                                   {299, "delivered"},
                                                                   {301, "http_3xx"},
                                                                   {404, "http_4xx"},
                                                                   {410, "http_410"},
                                                                   {429, "http_429"},
                                                                   {500, "http_5xx"},
                                                                   {503, "http_5xx"},
                                                                   {600, "bad_response"},
                                                                   {999, "bad_response"}})
    BOOST_TEST(outcome(TransportResult::answered, status) == expected);
}

BOOST_AUTO_TEST_CASE(every_other_transport_result_has_its_class) {
  for (const auto result : dispatcher_support::results_without_answer())
    BOOST_TEST(outcome(result) != "delivered");
  BOOST_TEST(outcome(TransportResult::timeout) == "timeout");
  BOOST_TEST(outcome(TransportResult::name_unresolved) == "name");
  BOOST_TEST(outcome(TransportResult::tls_expired) == "tls");
  BOOST_TEST(outcome(TransportResult::connection_timeout) == "connection");
  BOOST_TEST(outcome(TransportResult::address_refused) == "address");
  BOOST_TEST(outcome(TransportResult::closed) == "bad_response");
  BOOST_TEST(outcome(TransportResult::local_failure) == "local");
  BOOST_TEST(outcome(TransportResult::sandboxed) == "sandbox");
}

BOOST_AUTO_TEST_CASE(silence_in_an_outage_of_our_own_is_no_lack_of_this_host) {
  auto attempt = ended(TransportResult::connection_timeout);
  attempt.counted = false;
  BOOST_TEST(label(dispatcher::outcome_class(attempt)) == "outage");
  const dispatcher::Metrics metrics;
  metrics.count_attempt(attempt);
  BOOST_TEST(has(metrics, "apientidades_attempts_total{outcome=\"outage\"} 1"));
  BOOST_TEST(has(metrics, "apientidades_attempts_total{outcome=\"local\"} 0"));
  BOOST_TEST(has(metrics, "apientidades_attempt_duration_seconds_count{result=\"failed\"} 0"));
}

BOOST_AUTO_TEST_CASE(attempts_and_how_long_they_took) {
  const dispatcher::Metrics metrics;
  metrics.count_attempt(ended(TransportResult::answered, 200));
  metrics.count_attempt(ended(TransportResult::timeout));
  auto local = ended(TransportResult::local_failure);
  local.fault = delivery::LocalFault::eaddrnotavail;
  metrics.count_attempt(local);
  BOOST_TEST(has(metrics, "apientidades_attempts_total{outcome=\"delivered\"} 1"));
  BOOST_TEST(has(metrics, "apientidades_attempts_total{outcome=\"local\"} 1"));
  BOOST_TEST(has(metrics, "apientidades_local_faults_total{fault=\"EADDRNOTAVAIL\"} 1"));
  BOOST_TEST(has(metrics, "apientidades_local_faults_total{fault=\"stopped\"} 0"));
  BOOST_TEST(has(metrics, "apientidades_attempt_duration_seconds_count{result=\"delivered\"} 1"));
  BOOST_TEST(has(metrics, "apientidades_attempt_duration_seconds_count{result=\"failed\"} 1"));
}

BOOST_AUTO_TEST_CASE(results_by_state) {
  const dispatcher::Metrics metrics;
  delivery::DeliveryResult delivery_result;
  for (const auto state : {delivery::DeliveryState::delivered, delivery::DeliveryState::pending,
                           delivery::DeliveryState::failed, delivery::DeliveryState::held}) {
    delivery_result.state = state;
    metrics.count_result(delivery_result);
  }
  for (const auto* state : {"entregada", "fallida", "retenida"})
    BOOST_TEST(has(metrics, "apientidades_deliveries_total{state=\"" + std::string(state) + "\"} 1"));
  BOOST_TEST(has(metrics, "apientidades_retries_total 1"));
}

BOOST_AUTO_TEST_CASE(the_status_line) {
  auto queue = nothing();
  BOOST_TEST(dispatcher::describe(queue, 0) == "nothing waits; 0 in flight");
  queue.pending_notifications = 1;
  queue.pending_deliveries = 120;
  queue.oldest_s = 4;
  BOOST_TEST(dispatcher::describe(queue, 5) ==
             "1 notification and 120 deliveries wait, the oldest for 4 s; 5 in flight");
  queue.pending_deliveries = 100000;
  queue.held = 100000;
  queue.rejected = 1;
  queue.paused = true;
  BOOST_TEST(
      dispatcher::describe(queue, 5) ==
      "PAUSED by queue pause; 1 notification and 100000 or more deliveries wait, the oldest for 4 s; 5 in "
      "flight; 100000 or more held; 1 rejected notification");
}

// A series without its QueueGauge would shift those behind it.
BOOST_AUTO_TEST_CASE(each_series_of_the_queue_has_a_name) {
  BOOST_TEST(dispatcher::Metrics().queue.size() ==
             static_cast<std::size_t>(dispatcher::QueueGauge::refused_addresses) + 1);
}

BOOST_AUTO_TEST_SUITE_END()
