// The statistics that the API keeps for some seconds.
#include "fcgi-app/handlers/kept_statistics.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(kept_statistics)

BOOST_AUTO_TEST_CASE(each_webhook_and_window_is_read_once_in_five_seconds) {
  const api::KeptStatistics kept;
  const platform::MonotonicTime start{};
  std::uint64_t reads = 0;
  const auto read = [&reads] {
    store::DeliveryStatistics statistics;
    statistics.delivered = ++reads;
    return statistics;
  };
  const auto delivered = [&](std::int64_t webhook, platform::Milliseconds window,
                             platform::Milliseconds after) {
    return kept.get(store::WebhookId(webhook), window, start + after, read).delivered;
  };
  BOOST_TEST(delivered(1, 24h, 0ms) == 1U);
  BOOST_TEST(delivered(1, 24h, 4999ms) == 1U);
  BOOST_TEST(delivered(1, 168h, 4999ms) == 2U);
  BOOST_TEST(delivered(2, 24h, 4999ms) == 3U);
  BOOST_TEST(delivered(1, 24h, 5000ms) == 4U);
  BOOST_TEST(delivered(1, 24h, 9999ms) == 4U);
}

BOOST_AUTO_TEST_SUITE_END()
