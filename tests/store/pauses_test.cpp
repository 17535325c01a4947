// What the operator has paused, and why a webhook waits.
#include "lib/store/backlog/pauses.hpp"

#include <boost/test/unit_test.hpp>

#include "dispatcher/schedule/paused_parts.hpp"
#include "lib/store/backlog/queue.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/backlog/webhook_backlog.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;

BOOST_FIXTURE_TEST_SUITE(pauses, DeliveryFixture)

BOOST_AUTO_TEST_CASE(a_part_is_paused_until_it_is_resumed_or_its_time_is_up) {
  BOOST_TEST(read_pauses(session).parts.empty());
  pause_part(session, Paused::host, "hooks.example.com", {}, "su mantenimiento");
  pause_part(session, Paused::entity, "1", 1h, "");
  pause_part(session, Paused::webhook, "1", 1ms, "");
  session.update(
      "UPDATE pausas_envio SET hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE tipo = 'webhook'");
  const auto read = read_pauses(session);
  BOOST_TEST(!read.everything);
  BOOST_REQUIRE_EQUAL(read.parts.size(), 2U);
  const auto& entity = read.parts[read.parts[0].what == Paused::entity ? 0 : 1];
  const auto& host = read.parts[read.parts[0].what == Paused::host ? 0 : 1];
  BOOST_TEST((entity.left.value() > 59min && entity.left.value() <= 1h));
  BOOST_TEST(!host.left.has_value());
  BOOST_TEST(host.reason == "su mantenimiento");
  BOOST_TEST(!resume_part(session, Paused::webhook, "1"));
  BOOST_TEST(resume_part(session, Paused::host, "hooks.example.com"));
  pause_part(session, Paused::entity, "1", {}, "");
  BOOST_TEST(!read_pauses(session).parts.at(0).left.has_value());
  set_paused(session, true);
  BOOST_TEST(read_pauses(session).everything);
  BOOST_TEST(session.query("SELECT 1 FROM pausas_envio").size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_look_at_the_queue_sees_pauses_that_have_not_ended) {
  BOOST_TEST(!peek_queue(session).pauses);
  pause_part(session, Paused::webhook, "1", 1h, "");
  BOOST_TEST(peek_queue(session).pauses);
  session.update("UPDATE pausas_envio SET hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_TEST(!peek_queue(session).pauses);
  pause_part(session, Paused::webhook, "1", {}, "");
  BOOST_TEST(peek_queue(session).pauses);
  BOOST_TEST(resume_part(session, Paused::webhook, "1"));
  set_paused(session, true);
  BOOST_TEST(peek_queue(session).pauses);
  set_paused(session, false);
  BOOST_TEST(!peek_queue(session).pauses);
}

BOOST_AUTO_TEST_CASE(a_pause_covers_an_entity_a_webhook_or_all_ports_of_a_host) {
  using dispatcher::PausedParts;
  const platform::MonotonicTime start{100s};
  std::string url = "https://Hooks.example.com:8443/x";
  const auto left = [&](std::vector<Pause> pauses, platform::MonotonicTime now) {
    PausedParts parts;
    parts.update(std::move(pauses), start);
    return parts.time_left(7, 3, url, now);
  };
  const auto pause = [](Paused what, std::string object, std::optional<platform::Milliseconds> ms) {
    return Pause{what, std::move(object), {}, ms, {}, {}};
  };
  BOOST_TEST((left({}, start) == 0ms));
  BOOST_TEST((left({pause(Paused::host, "hooks.example.com", 5s)}, start + 1s) == 4s));
  BOOST_TEST((left({pause(Paused::host, "hooks.example.com", 5s)}, start + 9s) <= 0ms));
  BOOST_TEST((left({pause(Paused::entity, "7", {}), pause(Paused::webhook, "3", 1s)}, start) > 1h));
  BOOST_TEST((left({pause(Paused::entity, "3", {}), pause(Paused::webhook, "7", {}),
                    pause(Paused::host, "example.com", {})},
                   start) == 0ms));
  url = "https://[2001:DB8:0::1]:8443/x";
  BOOST_TEST((left({pause(Paused::host, "2001:db8::1", 5s)}, start) == 5s));
}

BOOST_AUTO_TEST_CASE(webhooks_put_off_are_returned_when_a_pause_ends) {
  dispatcher::PausedParts parts;
  const platform::MonotonicTime now{100s};
  const Pause pause{Paused::entity, "7", UtcTime(1h), 10s, {}, {}};
  BOOST_TEST(parts.update({pause}, now).empty());
  parts.put_off(3);
  auto later = pause;
  later.left = 9s;
  BOOST_TEST(parts.update({later}, now + 1s).empty());
  BOOST_TEST((parts.update({}, now + 2s) == std::vector<WebhookId>{3}));
  BOOST_TEST(parts.update({}, now + 3s).empty());
}

BOOST_AUTO_TEST_CASE(the_backlog_of_a_webhook_is_counted) {
  add_deliveries(3, "pendiente", 0);
  session.update(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR ORDER BY id DESC LIMIT 1");
  const auto backlog = find_backlog(session, webhook.id).value();
  BOOST_TEST(backlog.due == 2);
  BOOST_TEST(backlog.later == 1);
  BOOST_TEST(backlog.held == 0);
  BOOST_TEST((backlog.oldest_due && backlog.next_attempt && *backlog.next_attempt > backlog.now));
  BOOST_TEST(!backlog.median_ms);
  BOOST_TEST(list_in_flight(session).empty());
  claim_some(1);
  BOOST_TEST(list_in_flight(session).size() == 1U);
  BOOST_TEST(!find_backlog(session, webhook.id.number() + 1000));
}

BOOST_AUTO_TEST_SUITE_END()
