#include "lib/delivery/classify.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/text/utf8.hpp"
#include "tests/unit/dispatcher_support.hpp"

BOOST_AUTO_TEST_SUITE(classify)

namespace {

using namespace std::chrono_literals;
using delivery::Attempt;
using delivery::DeliveryResult;
using delivery::DeliveryState;
using delivery::TransportResult;
using platform::Milliseconds;

const platform::UtcTime now(Milliseconds(1795168800000));  // 2026-11-20T10:00:00Z
constexpr double middle = 0.5;                             // the chance that adds no jitter

config::DeliverySettings settings() {
  config::DeliverySettings result;
  result.retry_schedule = {5s, 5min, 30min};
  result.retry_jitter = 0.2;
  result.retry_after_max = 24h;
  return result;
}

Attempt ended(TransportResult result, unsigned failures = 0) {
  Attempt attempt;
  attempt.delivery.id = 40;
  attempt.delivery.webhook = 4;
  attempt.delivery.lease = 0xfedcba9876543210;
  attempt.delivery.failures = failures;
  attempt.transport = result;
  attempt.started = now - 300ms;
  attempt.duration = 250ms;
  attempt.address = "203.0.113.7";
  return attempt;
}

Attempt answered(int status, std::string retry_after = "", unsigned failures = 0) {
  auto attempt = ended(TransportResult::answered, failures);
  attempt.status = status;
  if (!retry_after.empty()) attempt.retry_after = {std::move(retry_after)};
  return attempt;
}

DeliveryResult classified(const Attempt& attempt, double chance = middle) {
  return delivery::classify(attempt, settings(), chance, now);
}

std::int64_t wait_ms(const Attempt& attempt, double chance = middle) {
  const auto delivery_result = classified(attempt, chance);
  BOOST_TEST((delivery_result.state == DeliveryState::pending));
  return delivery_result.wait.value().count();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_attempt_is_recorded_as_it_was) {
  const auto delivery_result = classified(answered(204));
  BOOST_TEST(delivery_result.id == 40);
  BOOST_TEST(delivery_result.webhook == 4);
  BOOST_TEST(delivery_result.lease == 0xfedcba9876543210);
  BOOST_TEST(!delivery_result.test);
  BOOST_TEST((delivery_result.started == now - 300ms));
  BOOST_TEST(delivery_result.duration.count() == 250);
  BOOST_TEST(delivery_result.address.value() == "203.0.113.7");
  BOOST_TEST(delivery_result.status.value() == 204);
}

BOOST_AUTO_TEST_CASE(a_result_says_whose_it_is) {
  auto attempt = answered(500);
  attempt.delivery.entity = 5;
  attempt.delivery.attempts = 7;
  attempt.delivery.replay = true;
  attempt.delivery.kind = delivery::AttemptKind::probe;
  attempt.signatures = 2;
  const auto delivery_result = classified(attempt);
  BOOST_TEST(delivery_result.entity == 5);
  BOOST_TEST(delivery_result.attempts == 7U);
  BOOST_TEST(delivery_result.replay);
  BOOST_TEST((delivery_result.kind == delivery::AttemptKind::probe));
  BOOST_TEST(delivery_result.signatures == 2U);
  const auto held = delivery::hold_unreadable({attempt.delivery, delivery::Unreadable::secret});
  BOOST_TEST((held.replay && held.entity == 5 && held.kind == delivery::AttemptKind::probe));
}

BOOST_AUTO_TEST_CASE(every_2xx_is_success) {
  for (const int status : {200, 201, 202, 204, 226, 299}) {
    const auto delivery_result = classified(answered(status, "120", 3));
    BOOST_TEST((delivery_result.state == DeliveryState::delivered), status);
    BOOST_TEST(delivery_result.error.empty(), status);
    BOOST_TEST(delivery_result.failures == 3U);  // a success is no failure
    BOOST_TEST(!delivery_result.one_at_a_time);
    BOOST_TEST(!delivery_result.gone);
    BOOST_TEST(delivery_result.rest.count() == 0);
  }
}

BOOST_AUTO_TEST_CASE(what_a_sandbox_kept_from_being_sent_is_delivered_and_says_so) {
  const auto result = classified(ended(TransportResult::sandboxed));
  BOOST_TEST((result.state == DeliveryState::delivered));
  BOOST_TEST(result.error == "Entorno de pruebas: no se ha enviado");
  BOOST_TEST(!result.status);
  BOOST_TEST(result.url.empty());
}

BOOST_AUTO_TEST_CASE(every_other_answer_is_a_failure) {
  for (const int status : {300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 408, 422, 500, 502, 504, 999}) {
    const auto delivery_result = classified(answered(status));
    BOOST_TEST((delivery_result.state == DeliveryState::pending), status);
    BOOST_TEST(delivery_result.status.value() == status);
    BOOST_TEST(!delivery_result.error.empty(), status);
    BOOST_TEST(delivery_result.failures == 1U, status);
    BOOST_TEST(delivery_result.wait.value().count() == 5000, status);
    // The receiver answers, so other deliveries need not wait.
    BOOST_TEST(!delivery_result.one_at_a_time, status);
    BOOST_TEST(!delivery_result.gone, status);
    BOOST_TEST(delivery_result.rest.count() == 0, status);
  }
}

BOOST_AUTO_TEST_CASE(only_a_410_says_that_it_is_gone) {
  const auto delivery_result = classified(answered(410));
  BOOST_TEST(delivery_result.gone);
  BOOST_TEST((delivery_result.state ==
              DeliveryState::pending));  // held while the webhook is inactive, sent once it is active
  BOOST_TEST(!delivery_result.one_at_a_time);
  BOOST_TEST(!classified(ended(TransportResult::timeout)).gone);
  auto unanswered = ended(TransportResult::closed);
  unanswered.status = 410;  // no answer with this status arrived
  BOOST_TEST(!classified(unanswered).gone);
}

BOOST_AUTO_TEST_CASE(a_429_rests_the_whole_webhook) {
  const auto asked = classified(answered(429, "120"));
  BOOST_TEST((asked.state == DeliveryState::pending));
  BOOST_TEST(asked.wait.value().count() == 120000);
  BOOST_TEST(asked.rest.count() == 120000);
  BOOST_TEST(asked.one_at_a_time);
  const auto unasked = classified(answered(429));
  BOOST_TEST(unasked.wait.value().count() == 5000);
  BOOST_TEST(unasked.rest.count() == 5000);  // the schedule's first wait
  BOOST_TEST(unasked.one_at_a_time);
}

BOOST_AUTO_TEST_CASE(a_503_delays_its_own_delivery) {
  const auto asked = classified(answered(503, "120"));
  BOOST_TEST(asked.wait.value().count() == 120000);
  BOOST_TEST(asked.rest.count() == 0);
  BOOST_TEST(asked.one_at_a_time);
  BOOST_TEST(classified(answered(503)).wait.value().count() == 5000);
  BOOST_TEST(classified(answered(503)).one_at_a_time);
}

BOOST_AUTO_TEST_CASE(retry_after_never_hastens_and_is_bounded) {
  BOOST_TEST(wait_ms(answered(429, "1")) == 5000);
  BOOST_TEST(wait_ms(answered(503, "0")) == 5000);
  BOOST_TEST(wait_ms(answered(503, "999999999999999999999")) == 86400000);
  BOOST_TEST(classified(answered(429, "999999999999999999999")).rest.count() == 86400000);
  BOOST_TEST(classified(answered(429, "1")).rest.count() ==
             1000);  // what the receiver asked for, not the schedule's wait
}

BOOST_AUTO_TEST_CASE(retry_after_as_a_date) {
  BOOST_TEST(wait_ms(answered(503, "Fri, 20 Nov 2026 10:02:00 GMT")) == 120000);
  BOOST_TEST(classified(answered(429, "Fri, 20 Nov 2026 10:02:00 GMT")).rest.count() == 120000);
  BOOST_TEST(wait_ms(answered(503, "Fri, 20 Nov 2020 10:02:00 GMT")) == 5000);
  BOOST_TEST(classified(answered(429, "Fri, 20 Nov 2020 10:02:00 GMT")).rest.count() == 0);
}

BOOST_AUTO_TEST_CASE(of_several_retry_after_the_latest_counts) {
  auto attempt = answered(503);
  for (const auto& values : std::vector<std::vector<std::string>>{{"60", "120"},
                                                                  {"120", "60"},
                                                                  {"soon", "120"},
                                                                  {"120", ""},
                                                                  {"60", "Fri, 20 Nov 2026 10:02:00 GMT"}}) {
    attempt.retry_after = values;
    BOOST_TEST(wait_ms(attempt) == 120000, values.front());
  }
  attempt.retry_after = {"soon", "never"};
  BOOST_TEST(wait_ms(attempt) == 5000);
}

BOOST_AUTO_TEST_CASE(a_malformed_retry_after_is_none) {
  for (const auto* text : {"-1", "soon", "1.5s", "120 "}) {
    BOOST_TEST(wait_ms(answered(503, text)) == 5000, text);
    BOOST_TEST(classified(answered(429, text)).rest.count() == 5000, text);
  }
}

BOOST_AUTO_TEST_CASE(retry_after_means_nothing_elsewhere) {
  for (const int status : {301, 404, 410, 500, 502, 504})
    BOOST_TEST(wait_ms(answered(status, "120")) == 5000, status);
}

BOOST_AUTO_TEST_CASE(an_unanswered_attempt_is_a_failure_and_starts_probes) {
  for (const auto result : dispatcher_support::results_without_answer()) {
    const auto delivery_result = classified(ended(result));
    BOOST_TEST_CONTEXT("result " << static_cast<int>(result)) {
      BOOST_TEST((delivery_result.state == DeliveryState::pending));
      BOOST_TEST(!delivery_result.status.has_value());
      BOOST_TEST(!delivery_result.error.empty());
      BOOST_TEST(delivery_result.failures == 1U);
      BOOST_TEST(delivery_result.wait.value().count() == 5000);
      BOOST_TEST(delivery_result.one_at_a_time);
      BOOST_TEST(delivery_result.rest.count() == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(follows_the_schedule_until_it_is_exhausted) {
  BOOST_TEST(wait_ms(answered(500, "", 0)) == 5000);
  BOOST_TEST(wait_ms(answered(500, "", 1)) == 300000);
  BOOST_TEST(wait_ms(ended(TransportResult::timeout, 2)) == 1800000);
  for (const auto& last :
       {answered(500, "", 3), answered(503, "120", 3), ended(TransportResult::timeout, 3)}) {
    const auto delivery_result = classified(last);
    BOOST_TEST((delivery_result.state == DeliveryState::failed));
    BOOST_TEST(delivery_result.failures == 4U);
    BOOST_TEST(!delivery_result.wait.has_value());
    BOOST_TEST(!delivery_result.error.empty());
  }
}

// Also a delivery's last attempt can make the webhook rest, deactivate it, or start probes of it.
BOOST_AUTO_TEST_CASE(the_last_failure_speaks_of_the_webhook_too) {
  BOOST_TEST(classified(answered(429, "120", 3)).rest.count() == 120000);
  BOOST_TEST(classified(answered(429, "120", 3)).one_at_a_time);
  BOOST_TEST(classified(answered(410, "", 3)).gone);
}

BOOST_AUTO_TEST_CASE(a_test_event_is_retried_twice) {
  for (const unsigned failures : {0U, 1U, 2U, 3U}) {
    auto attempt = answered(500, "", failures);
    attempt.delivery.test = true;
    const auto delivery_result = classified(attempt);
    BOOST_TEST(delivery_result.test);
    BOOST_TEST((delivery_result.state == (failures < 2 ? DeliveryState::pending : DeliveryState::failed)),
               failures);
  }
}

BOOST_AUTO_TEST_CASE(chance_places_the_wait_within_its_jitter) {
  BOOST_TEST(wait_ms(answered(500), 0.0) == 4000);
  BOOST_TEST(wait_ms(answered(500), 0.25) == 4500);
  BOOST_TEST(wait_ms(answered(500), 0.999999) == 5999);
}

BOOST_AUTO_TEST_CASE(the_error_tells_nothing_of_the_address) {
  auto attempt = ended(TransportResult::address_refused);
  attempt.address = "10.1.2.3";
  const auto delivery_result = classified(attempt);
  attempt.address = std::nullopt;
  BOOST_TEST(delivery_result.error == classified(attempt).error);
  BOOST_TEST(delivery_result.error.find("10.") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_unreadable_secret_holds_its_delivery) {
  delivery::LeasedDelivery delivery;
  delivery.id = 40;
  delivery.webhook = 4;
  delivery.lease = 9;
  delivery.failures = 3;
  delivery.test = true;
  const auto delivery_result = delivery::hold_unreadable({delivery, delivery::Unreadable::secret});
  BOOST_TEST((delivery_result.state == DeliveryState::held));
  BOOST_TEST(delivery_result.id == 40);
  BOOST_TEST(delivery_result.webhook == 4);
  BOOST_TEST(delivery_result.lease == 9U);
  BOOST_TEST(delivery_result.test);
  BOOST_TEST(delivery_result.failures == 3U);  // no attempt was made
  BOOST_TEST(!delivery_result.status.has_value());
  BOOST_TEST(!delivery_result.one_at_a_time);
  BOOST_TEST((delivery_result.rest == delivery::unreadable_secret_rest));
  BOOST_TEST(!delivery_result.error.empty());
  BOOST_TEST(text::count_characters(delivery_result.error).value() <= 500U);
}

BOOST_AUTO_TEST_CASE(an_answer_of_a_former_url_only_makes_its_delivery_due) {
  auto delivered = answered(200);
  delivered.url = "https://a.example.org/";
  BOOST_TEST(classified(delivered).url.empty());  // not copied for a success
  for (const int status : {410, 429, 500}) {
    auto attempt = answered(status, "3600", 9);
    attempt.url = "https://a.example.org/";
    const auto result = classified(attempt);
    BOOST_TEST(result.url == "https://a.example.org/");
    const auto former = delivery::of_former_url(result);
    BOOST_TEST((former.state == DeliveryState::pending));
    BOOST_TEST((former.wait == 0ms && former.retry_after == 0ms));
    BOOST_TEST(former.failures == 0U);
    BOOST_TEST((!former.gone && !former.one_at_a_time && former.rest == 0ms && former.former_url));
    const auto text = "El receptor respondió " + std::to_string(status) + ": se espera un 2xx";
    BOOST_TEST(former.error == text);  // also for a 410, which deactivates nothing here
  }
}

BOOST_AUTO_TEST_CASE(a_test_event_that_cannot_be_read_holds_itself_alone) {
  delivery::LeasedDelivery test;
  test.test = true;
  const auto delivery_result = delivery::hold_unreadable({test, delivery::Unreadable::test_data});
  BOOST_TEST((delivery_result.state == DeliveryState::held));
  BOOST_TEST(delivery_result.rest.count() == 0);
  BOOST_TEST(delivery_result.error.starts_with("Los datos de la prueba"));
}

BOOST_AUTO_TEST_SUITE_END()
