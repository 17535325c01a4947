// What entities see of their deliveries: the pages of the log, and the evidence of one delivery.
#include "lib/store/deliveries/delivery_log.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

struct LogFixture : DeliveryFixture {
  /// Reads all pages of a filter. Returns the number of deliveries and the number of pages.
  std::pair<std::size_t, int> walk(const LogFilter& filter, unsigned limit) {
    std::pair<std::size_t, int> seen;
    std::optional<DeliveryId> before;
    std::optional<DeliveryId> last;
    do {
      const auto page = read_log_page(session, {webhook.id}, filter, limit, before);
      for (const auto& delivery : page.deliveries) {
        BOOST_CHECK(!last || delivery.id < *last);
        last = delivery.id;
      }
      BOOST_CHECK(!page.next || !before || *page.next < *before);
      seen.first += page.deliveries.size();
      ++seen.second;
      before = page.next;
    } while (before);
    return seen;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(delivery_log, LogFixture)

BOOST_AUTO_TEST_CASE(pages_have_everything_once_the_newest_first) {
  add_deliveries(25, "entregada", 0);
  BOOST_CHECK(walk({}, 10) == std::pair(std::size_t{25}, 3));
  BOOST_CHECK(walk({}, 25) == std::pair(std::size_t{25}, 1));
  BOOST_CHECK(walk({}, 5) == std::pair(std::size_t{25}, 5));
  BOOST_CHECK(read_log_page(session, {webhook.id.next()}, {}, 10, {}).deliveries.empty());
}

BOOST_AUTO_TEST_CASE(deliveries_of_an_earlier_version_have_the_event_of_their_notification) {
  add_deliveries(3, "entregada", 0);
  session.update("UPDATE notificaciones_pendientes SET origen = 'prueba' ORDER BY id LIMIT 1");
  queue_one();
  BOOST_REQUIRE_EQUAL(
      session.query("SELECT COUNT(*) AS n FROM entregas WHERE evento IS NULL").at(0).integer("n"), 3);
  const auto page = read_log_page(session, {webhook.id}, {}, 10, {});
  BOOST_REQUIRE_EQUAL(page.deliveries.size(), 4U);
  const auto own = page.deliveries.front().id;
  for (const auto& delivery : page.deliveries) {
    BOOST_TEST(delivery.event == (delivery.id == own ? "evaluacion.cerrada" : "evaluacion.abierta"));
    BOOST_TEST(delivery.test == (delivery.id == page.deliveries.back().id));
  }
}

BOOST_AUTO_TEST_CASE(a_log_page_includes_test_deliveries) {
  BOOST_REQUIRE_EQUAL(
      queue_test_event(session, 1, webhook::find_event("evaluacion.abierta").value(), "{}", 0).size(), 1U);
  const auto page = read_log_page(session, {webhook.id}, {}, 10, {});
  BOOST_REQUIRE_EQUAL(page.deliveries.size(), 1U);
  BOOST_TEST(page.deliveries.front().test);
  BOOST_TEST(page.deliveries.front().event == "evaluacion.abierta");
  BOOST_TEST(session.query("SELECT evento FROM entregas").at(0).text("evento") == "evaluacion.abierta");
}

BOOST_AUTO_TEST_CASE(a_page_looks_at_a_bounded_number_of_rows) {
  add_deliveries(4500, "entregada", 0);
  add_deliveries(1, "fallida", 0);
  const auto first = read_log_page(session, {webhook.id}, {.state = "cancelada"}, 10, {});
  BOOST_CHECK(first.deliveries.empty() && first.next);
  BOOST_CHECK(walk({.state = "cancelada"}, 10) == std::pair(std::size_t{0}, 3));
  BOOST_CHECK(walk({.state = "fallida"}, 10) == std::pair(std::size_t{1}, 3));
  BOOST_CHECK(walk({.event = "evaluacion.abierta"}, 100) == std::pair(std::size_t{4501}, 46));
  BOOST_CHECK_EQUAL(walk({.event = "evaluacion.cerrada"}, 100).first, 0U);
}

BOOST_AUTO_TEST_CASE(times_narrow_a_page_and_end_the_walk) {
  add_deliveries(4500, "entregada", 9);
  add_deliveries(30, "entregada", 5);
  add_deliveries(30, "entregada", 0);
  const auto now = platform::utc_now();
  const auto days = [](int count) { return Milliseconds(std::chrono::days(count)); };
  BOOST_CHECK_EQUAL(walk({.since = now - days(1)}, 10).first, 30U);
  BOOST_CHECK(walk({.since = now - days(6), .until = now - days(4)}, 10).first == 30U);
  BOOST_CHECK_EQUAL(walk({.until = now - days(4)}, 100).first, 4530U);
  BOOST_CHECK_LE(walk({.since = now - days(1)}, 100).second, 2);  // not all older rows are read
}

BOOST_AUTO_TEST_CASE(a_page_of_deliveries_with_failures_has_them_in_any_state) {
  queue_one();
  BOOST_CHECK_EQUAL(walk({.failed = true}, 10).first, 0U);
  record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(only().state, "pendiente");
  BOOST_CHECK_EQUAL(walk({.failed = true}, 10).first, 1U);
  BOOST_CHECK(find_logged(session, {webhook.id}, {.failed = true}, only().id));
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(only().state, "entregada");
  BOOST_CHECK_EQUAL(walk({.failed = true}, 10).first, 1U);
}

BOOST_AUTO_TEST_CASE(one_held_for_too_long_is_a_failure_without_an_attempt) {
  add_deliveries(1, "fallida", 0);
  BOOST_CHECK_EQUAL(walk({.failed = true}, 10).first, 1U);
  BOOST_CHECK_EQUAL(walk({.state = "entregada", .failed = true}, 10).first, 0U);
}

BOOST_AUTO_TEST_CASE(a_replay_of_a_delivered_delivery_is_no_failure) {
  queue_one();
  const auto id = only().id;
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_CHECK(retry_delivery(session, id) == DeliveryChange::done);
  record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(walk({.failed = true}, 10).first, 0U);
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(only().attempts, 3);
  BOOST_CHECK_EQUAL(walk({.failed = true}, 10).first, 0U);
  BOOST_CHECK(!find_logged(session, {webhook.id}, {.failed = true}, id));
}

BOOST_AUTO_TEST_CASE(a_delivered_delivery_is_shown_as_delivered_during_its_replay) {
  queue_one();
  const auto id = only().id;
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_TEST(session.query("SELECT entregada_en FROM entregas").at(0).null("entregada_en"));
  const auto seen = [&] { return find_evidence(session, webhook.id, id).value().delivery; };
  const auto first = seen().delivered;
  BOOST_REQUIRE(first);
  BOOST_CHECK(seen().ended == first);
  BOOST_CHECK(retry_delivery(session, id) == DeliveryChange::done);
  BOOST_CHECK_EQUAL(only().state, "pendiente");
  BOOST_CHECK(seen().state == "entregada" && seen().delivered == first && !seen().next_attempt);
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_CHECK(seen().delivered == first);
  BOOST_CHECK_EQUAL(read_log_page(session, {webhook.id}, {.state = "entregada"}, 10, {}).deliveries.size(),
                    1U);
  BOOST_CHECK_EQUAL(read_log_page(session, {webhook.id}, {.state = "pendiente"}, 10, {}).deliveries.size(),
                    0U);
}

/// Earlier releases wrote `entregada_en` at the first success. Now only a replay writes it.
BOOST_AUTO_TEST_CASE(the_time_of_one_delivered_by_the_version_before_is_kept) {
  queue_one();
  const auto id = only().id;
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  session.update("UPDATE entregas SET entregada_en = '2026-01-01 00:00:00'");
  const auto seen = [&] { return find_evidence(session, webhook.id, id).value().delivery; };
  const auto first = seen().delivered;
  BOOST_REQUIRE(first && first < seen().ended);
  retry_delivery(session, id);
  BOOST_CHECK(seen().delivered == first && seen().state == "entregada");
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_CHECK(seen().delivered == first && seen().state == "entregada");
}

BOOST_AUTO_TEST_CASE(evidence_is_of_the_webhooks_own_deliveries) {
  queue_one();
  auto result = failed_attempt(claim_one(), Milliseconds(1000));
  result.signatures = 1;
  record_results(session, {result}, {Milliseconds(0)});
  const auto evidence = find_evidence(session, webhook.id, result.id).value();
  BOOST_REQUIRE_EQUAL(evidence.attempts.size(), 1U);
  BOOST_CHECK_EQUAL(evidence.attempts[0].signatures.value(), 1);
  BOOST_CHECK(evidence.delivery.next_attempt && !evidence.delivery.ended && !evidence.delivery.test);
  const auto other = add_webhook(session, 2);
  BOOST_CHECK(!find_evidence(session, other.id, result.id));
}

BOOST_AUTO_TEST_SUITE_END()
