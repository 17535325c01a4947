// The deliveries of an entity's webhooks in one list.
#include "lib/store/deliveries/delivery_log.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

struct EntityLogFixture : DeliveryFixture {
  std::vector<WebhookId> webhooks{webhook.id};

  /// Adds `count` deliveries of another webhook of the entity.
  void add_to_another(unsigned count, std::string_view state, int ago) {
    const auto first = webhook;
    webhook = add_webhook(session, 1);
    webhooks.push_back(webhook.id);
    add_deliveries(count, state, ago);
    webhook = first;
  }
  /// Reads all pages of a filter. Returns the number of deliveries and the number of pages.
  std::pair<std::size_t, int> walk(const LogFilter& filter, unsigned limit) {
    std::pair<std::size_t, int> seen;
    std::optional<DeliveryId> before;
    std::optional<DeliveryId> last;
    do {
      const auto page = read_log_page(session, webhooks, filter, limit, before);
      for (const auto& delivery : page.deliveries) {
        BOOST_CHECK(!last || delivery.id < *last);
        BOOST_CHECK(find_evidence(session, delivery.webhook, delivery.id).has_value());
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

BOOST_FIXTURE_TEST_SUITE(entity_log, EntityLogFixture)

BOOST_AUTO_TEST_CASE(pages_merge_the_webhooks_the_newest_first) {
  for (int i = 0; i < 5; ++i) add_deliveries(3, "entregada", 0);
  BOOST_CHECK(walk({}, 10) == std::pair(std::size_t{15}, 2));
  add_to_another(7, "entregada", 0);
  add_deliveries(2, "entregada", 0);
  add_to_another(0, "entregada", 0);
  add_to_another(1, "fallida", 0);
  BOOST_CHECK(walk({}, 10) == std::pair(std::size_t{25}, 3));
  BOOST_CHECK(walk({}, 25) == std::pair(std::size_t{25}, 1));
  BOOST_CHECK(walk({}, 1) == std::pair(std::size_t{25}, 25));
  BOOST_CHECK(walk({.state = "fallida"}, 10) == std::pair(std::size_t{1}, 1));
  add_webhook(session, 2);
  BOOST_CHECK(read_log_page(session, {}, {}, 10, {}).deliveries.empty());
}

BOOST_AUTO_TEST_CASE(one_webhook_may_have_all_deliveries) {
  add_to_another(0, "entregada", 0);
  add_deliveries(30, "entregada", 0);
  for (const unsigned limit : {1U, 2U, 7U, 10U, 29U, 30U, 31U}) {
    const auto pages = static_cast<int>((30 + limit - 1) / limit);
    BOOST_TEST_CONTEXT(limit) BOOST_CHECK(walk({}, limit) == std::pair(std::size_t{30}, pages));
  }
}

BOOST_AUTO_TEST_CASE(a_page_looks_at_a_bounded_number_of_rows) {
  add_to_another(1500, "entregada", 0);
  add_deliveries(3000, "entregada", 0);
  add_to_another(1, "fallida", 0);
  const auto first = read_log_page(session, webhooks, {.state = "cancelada"}, 10, {});
  BOOST_CHECK(first.deliveries.empty() && first.next);
  BOOST_CHECK(walk({.state = "cancelada"}, 10) == std::pair(std::size_t{0}, 3));
  BOOST_CHECK(walk({.state = "fallida"}, 10) == std::pair(std::size_t{1}, 3));
  BOOST_CHECK(walk({.event = "evaluacion.abierta"}, 100) == std::pair(std::size_t{4501}, 46));
  BOOST_CHECK_EQUAL(walk({.event = "evaluacion.cerrada"}, 100).first, 0U);
}

BOOST_AUTO_TEST_CASE(times_narrow_a_page_and_end_the_walk) {
  add_to_another(2500, "entregada", 9);
  add_deliveries(30, "entregada", 5);
  add_to_another(30, "entregada", 0);
  const auto now = platform::utc_now();
  const auto days = [](int count) { return Milliseconds(std::chrono::days(count)); };
  BOOST_CHECK_EQUAL(walk({.since = now - days(1)}, 10).first, 30U);
  BOOST_CHECK(walk({.since = now - days(6), .until = now - days(4)}, 10).first == 30U);
  BOOST_CHECK_EQUAL(walk({.until = now - days(4)}, 100).first, 2530U);
  BOOST_CHECK_LE(walk({.since = now - days(1)}, 100).second, 2);  // not all older rows are read
}

BOOST_AUTO_TEST_CASE(one_delivery_is_found_in_the_entitys_webhooks_alone) {
  add_deliveries(2, "entregada", 0);
  const auto id = only().id;
  const auto found = find_logged(session, webhooks, {}, id);
  BOOST_REQUIRE(found.has_value());
  BOOST_CHECK(found->webhook == webhook.id && found->id == id);
  BOOST_CHECK(!find_logged(session, webhooks, {.state = "fallida"}, id));
  BOOST_CHECK(!find_logged(session, {add_webhook(session, 2).id}, {}, id));
  BOOST_CHECK(!find_logged(session, webhooks, {}, 999'999));
}

BOOST_AUTO_TEST_CASE(data_are_read_as_they_were_written) {
  insert_notification(session, 1, "evaluacion.cerrada", R"({"evaluacionId": 1,  "titulo": "ñ"})");
  fan_out(session);
  const auto data = read_event_data(session, {only().id, 999'999});
  BOOST_REQUIRE_EQUAL(data.size(), 1U);
  BOOST_TEST(data.at(only().id) == R"({"evaluacionId": 1,  "titulo": "ñ"})");
  BOOST_TEST(read_event_data(session, {}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
