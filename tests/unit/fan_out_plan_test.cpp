#include "dispatcher/fan_out/fan_out_plan.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(fan_out)

namespace {

using delivery::DeliveryState;
using dispatcher::Ahead;
using dispatcher::FairSlots;
using dispatcher::JudgedNotification;
using dispatcher::Outcome;
using dispatcher::Outcomes;
using store::PendingNotification;
using store::Recipient;
using store::Subscriber;
using webhook::Event;

constexpr delivery::EntityId entity = 7;

FairSlots with_slots(unsigned total, unsigned per_webhook) {
  return FairSlots(
      {.total = total, .per_webhook = per_webhook, .per_host = 100, .longest = std::chrono::seconds(15)});
}

void take(FairSlots& slots, delivery::WebhookId webhook, bool one_at_a_time) {
  slots.identify({webhook, entity, "receptor.example:443", one_at_a_time});
  BOOST_REQUIRE(slots.take(webhook));
}

using Recipients = std::map<delivery::EntityId, Recipient>;

dispatcher::FanOutPlan plan(const std::vector<PendingNotification>& notifications,
                            const Recipients& recipients, FairSlots slots, Ahead ahead) {
  std::vector<JudgedNotification> judged;
  for (const auto& notification : notifications) judged.push_back(dispatcher::judge(notification));
  dispatcher::Grants grants(slots);
  return dispatcher::plan_fan_out(judged, recipients, grants, ahead);
}

/// Plans with Ahead::yes, so that a notification is fanned out even if all its deliveries must wait. Returns
/// what is to be written.
store::FanOutRows plan_fan_out(const std::vector<PendingNotification>& notifications,
                               const Recipients& recipients, FairSlots slots) {
  return plan(notifications, recipients, slots, Ahead::yes).fan_out;
}

/// Plans with Ahead::no, so that a notification may stay pending if none of its deliveries can be sent at
/// once and at least one must wait.
dispatcher::FanOutPlan plan_sendable(const std::vector<PendingNotification>& notifications,
                                     const Recipients& recipients, FairSlots slots) {
  return plan(notifications, recipients, slots, Ahead::no);
}

/// Notification `id` of the entity, with the event to which subscriber() subscribes.
PendingNotification opened(delivery::NotificationId id) {
  const std::string data = R"({"evaluacionId": 42, "titulo": "Convocatoria"})";
  return {id, entity, Event::evaluacion_abierta, platform::UtcTime{}, data.size(), data};
}

Subscriber subscriber(delivery::WebhookId webhook) {
  Subscriber result{.target = {webhook, "https://receptor.example/", {}},
                    .events = {},
                    .active = true,
                    .one_at_a_time = false,
                    .resting = false,
                    .backlog = false};
  result.events.insert(Event::evaluacion_abierta);
  return result;
}

Recipients with(std::vector<Subscriber> webhooks) { return {{entity, {true, std::move(webhooks)}}}; }

/// The states of a webhook's new deliveries, in their order: `l`eased, `p`ending, `h`eld.
std::string states(const store::FanOutRows& fan_out, delivery::WebhookId webhook) {
  std::string result;
  for (const auto& delivery : fan_out.deliveries) {
    if (delivery.webhook != webhook) continue;
    result += delivery.state == DeliveryState::leased    ? 'l'
              : delivery.state == DeliveryState::pending ? 'p'
                                                         : 'h';
  }
  return result;
}

/// Why `notification` is rejected; empty if it is not.
std::string rejection(const PendingNotification& notification, const Recipients& recipients) {
  const auto fan_out = plan_fan_out({notification}, recipients, with_slots(10, 10));
  BOOST_TEST(fan_out.processed.size() + fan_out.rejected.size() == 1U);
  if (fan_out.rejected.empty()) return "";
  BOOST_TEST(fan_out.deliveries.empty());
  BOOST_TEST(fan_out.rejected.front().id == notification.id);
  return fan_out.rejected.front().reason;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_empty_batch_gives_an_empty_plan) {
  const auto fan_out = plan_fan_out({}, {}, with_slots(10, 10));
  BOOST_TEST(fan_out.processed.empty());
  BOOST_TEST(fan_out.rejected.empty());
  BOOST_TEST(fan_out.deliveries.empty());
}

BOOST_AUTO_TEST_CASE(one_delivery_for_each_subscribed_webhook) {
  auto other = subscriber(3);
  other.events = {};
  other.events.insert(Event::evaluacion_cerrada);
  const auto fan_out =
      plan_fan_out({opened(11)}, with({subscriber(1), other, subscriber(5)}), with_slots(10, 10));
  BOOST_TEST((fan_out.processed == std::vector<delivery::NotificationId>{11}));
  BOOST_REQUIRE(fan_out.deliveries.size() == 2U);
  for (const std::size_t i : {0U, 1U}) {
    BOOST_TEST(fan_out.deliveries[i].notification == 11);
    BOOST_TEST(fan_out.deliveries[i].webhook == (i == 0 ? 1 : 5));
    BOOST_TEST((fan_out.deliveries[i].state == DeliveryState::leased));
  }
}

BOOST_AUTO_TEST_CASE(without_subscribers_it_is_processed_all_the_same) {
  const auto fan_out = plan_fan_out({opened(11)}, with({}), with_slots(10, 10));
  BOOST_TEST((fan_out.processed == std::vector<delivery::NotificationId>{11}));
  BOOST_TEST(fan_out.deliveries.empty());
}

BOOST_AUTO_TEST_CASE(the_reason_names_the_field) {
  const auto recipients = with({subscriber(1)});
  const auto with_data = [](std::string data) {
    auto result = opened(11);
    result.data = std::move(data);
    return result;
  };
  BOOST_TEST(rejection(opened(11), {}) == "entidad_id: la entidad 7 no existe");
  BOOST_TEST(rejection(opened(11), {{entity, {false, {subscriber(1)}}}}) ==
             "entidad_id: la entidad 7 está desactivada");
  auto undated = opened(11);
  undated.occurred.reset();
  BOOST_TEST(rejection(undated, recipients).starts_with("ocurrida_en: "));
  auto unknown = opened(11);
  unknown.event.reset();
  BOOST_TEST(rejection(unknown, recipients).starts_with("evento: "));
  BOOST_TEST(rejection(with_data(R"({"titulo": "x"})"), recipients).find("evaluacionId") !=
             std::string::npos);
  BOOST_TEST(rejection(with_data(R"({"evaluacionId": 1, "titulo": 2})"), recipients).find("titulo") !=
             std::string::npos);
  BOOST_TEST(rejection(with_data("[]"), recipients).starts_with("datos"));
  BOOST_TEST(rejection(with_data(""), recipients).starts_with("datos"));
  BOOST_TEST(rejection(with_data(R"({"evaluacionId": 1, "titulo": "x", "otro": null})"), recipients).empty());
}

BOOST_AUTO_TEST_CASE(data_are_checked_even_without_a_subscriber) {
  auto bad = opened(11);
  bad.data = "{}";
  BOOST_TEST(!rejection(bad, with({})).empty());
}

BOOST_AUTO_TEST_CASE(a_bad_notification_holds_up_no_other) {
  auto unknown = opened(12);
  unknown.entity = 8;
  auto bad = opened(13);
  bad.data = "{}";
  const auto fan_out =
      plan_fan_out({opened(11), unknown, bad, opened(14)}, with({subscriber(1)}), with_slots(10, 10));
  BOOST_TEST((fan_out.processed == std::vector<delivery::NotificationId>{11, 14}));
  BOOST_TEST(fan_out.rejected.size() == 2U);
  BOOST_TEST(states(fan_out, 1) == "ll");
}

BOOST_AUTO_TEST_CASE(each_goes_to_its_own_entity_s_webhooks) {
  auto other = opened(12);
  other.entity = 8;
  const Recipients recipients{{entity, {true, {subscriber(1)}}}, {8, {true, {subscriber(2)}}}};
  const auto fan_out = plan_fan_out({opened(11), other}, recipients, with_slots(10, 10));
  BOOST_REQUIRE(fan_out.deliveries.size() == 2U);
  BOOST_TEST(fan_out.deliveries[0].notification == 11);
  BOOST_TEST(fan_out.deliveries[0].webhook == 1);
  BOOST_TEST(fan_out.deliveries[1].notification == 12);
  BOOST_TEST(fan_out.deliveries[1].webhook == 2);
}

BOOST_AUTO_TEST_CASE(held_for_an_inactive_webhook_which_uses_no_slot) {
  auto inactive = subscriber(1);
  inactive.active = false;
  const auto fan_out =
      plan_fan_out({opened(11), opened(12)}, with({inactive, subscriber(2)}), with_slots(2, 2));
  BOOST_TEST(states(fan_out, 1) == "hh");
  BOOST_TEST(states(fan_out, 2) == "ll");
}

BOOST_AUTO_TEST_CASE(leased_while_the_webhook_has_slots_and_pending_from_then_on) {
  const auto fan_out = plan_fan_out({opened(11), opened(12), opened(13), opened(14)},
                                    with({subscriber(1), subscriber(2)}), with_slots(10, 2));
  BOOST_TEST(states(fan_out, 1) == "llpp");
  BOOST_TEST(states(fan_out, 2) == "llpp");
}

BOOST_AUTO_TEST_CASE(leased_while_there_are_slots_at_all) {
  const auto fan_out = plan_fan_out({opened(11), opened(12), opened(13)},
                                    with({subscriber(1), subscriber(2)}), with_slots(3, 10));
  BOOST_TEST(states(fan_out, 1) == "llp");
  BOOST_TEST(states(fan_out, 2) == "lpp");
}

BOOST_AUTO_TEST_CASE(deliveries_in_flight_reduce_the_free_slots) {
  auto slots = with_slots(10, 2);
  take(slots, 1, false);
  const auto fan_out = plan_fan_out({opened(11), opened(12)}, with({subscriber(1)}), slots);
  BOOST_TEST(states(fan_out, 1) == "lp");
}

BOOST_AUTO_TEST_CASE(older_ones_that_wait_are_not_overtaken) {
  auto behind = subscriber(1);
  behind.backlog = true;
  const auto fan_out =
      plan_fan_out({opened(11), opened(12)}, with({behind, subscriber(2)}), with_slots(10, 10));
  BOOST_TEST(states(fan_out, 1) == "pp");
  BOOST_TEST(states(fan_out, 2) == "ll");
}

BOOST_AUTO_TEST_CASE(a_resting_webhook_is_left_alone) {
  auto resting = subscriber(1);
  resting.resting = true;
  BOOST_TEST(states(plan_fan_out({opened(11)}, with({resting}), with_slots(10, 10)), 1) == "p");
}

BOOST_AUTO_TEST_CASE(one_that_probes_gets_one) {
  auto slow = subscriber(1);
  slow.one_at_a_time = true;
  const auto recipients = with({slow});
  BOOST_TEST(states(plan_fan_out({opened(11), opened(12)}, recipients, with_slots(10, 10)), 1) == "lp");
  auto busy = with_slots(10, 10);
  take(busy, 1, true);
  BOOST_TEST(states(plan_fan_out({opened(11)}, recipients, busy), 1) == "p");
}

BOOST_AUTO_TEST_CASE(inactive_comes_before_every_reason_to_wait) {
  auto inactive = subscriber(1);
  inactive.active = false;
  inactive.backlog = inactive.resting = inactive.one_at_a_time = true;
  BOOST_TEST(states(plan_fan_out({opened(11)}, with({inactive}), with_slots(10, 10)), 1) == "h");
}

// With Ahead::no, a notification that cannot be sent at once may stay pending.

BOOST_AUTO_TEST_CASE(a_notification_that_would_wait_is_left_and_its_entity_is_busy) {
  const auto plan =
      plan_sendable({opened(11), opened(12), opened(13)}, with({subscriber(1)}), with_slots(10, 2));
  BOOST_TEST((plan.fan_out.processed == std::vector<delivery::NotificationId>{11, 12}));
  BOOST_TEST(states(plan.fan_out, 1) == "ll");
  BOOST_TEST(
      (plan.outcomes == Outcomes{{11, Outcome::written}, {12, Outcome::written}, {13, Outcome::busy}}));
}

// Webhook 9 holds the only slot of the host that it shares with webhook 1. If the notification stayed
// pending, the dispatcher would read it again only after an attempt of webhook 1 ends. But webhook 1 has no
// attempt in flight, so the notification is fanned out.
BOOST_AUTO_TEST_CASE(a_notification_blocked_by_a_host_limit_is_not_left) {
  FairSlots slots({.total = 10, .per_webhook = 10, .per_host = 1, .longest = std::chrono::seconds(15)});
  slots.identify({9, 9, "receptor.example:443", false});
  BOOST_REQUIRE(slots.take(9));
  const auto plan = plan_sendable({opened(11)}, with({subscriber(1)}), slots);
  BOOST_TEST((plan.fan_out.processed == std::vector<delivery::NotificationId>{11}));
  BOOST_TEST(states(plan.fan_out, 1) == "p");
  BOOST_TEST((plan.outcomes == Outcomes{{11, Outcome::written}}));
}

BOOST_AUTO_TEST_CASE(a_busy_webhook_does_not_hold_up_the_others_of_its_entity) {
  auto behind = subscriber(1);
  behind.backlog = true;
  const auto plan = plan_sendable({opened(11)}, with({behind, subscriber(2)}), with_slots(10, 2));
  BOOST_TEST(states(plan.fan_out, 1) == "p");
  BOOST_TEST(states(plan.fan_out, 2) == "l");
  BOOST_TEST((plan.outcomes == Outcomes{{11, Outcome::written}}));
}

BOOST_AUTO_TEST_CASE(a_busy_entity_does_not_hold_up_the_next) {
  auto behind = subscriber(1);
  behind.backlog = true;
  auto other = opened(12);
  other.entity = 8;
  const Recipients recipients{{entity, {true, {behind}}}, {8, {true, {subscriber(2)}}}};
  const auto plan = plan_sendable({opened(11), other}, recipients, with_slots(10, 2));
  BOOST_TEST((plan.fan_out.processed == std::vector<delivery::NotificationId>{12}));
  BOOST_TEST((plan.outcomes == Outcomes{{11, Outcome::busy}, {12, Outcome::written}}));
}

BOOST_AUTO_TEST_CASE(without_free_slots_the_rest_is_left_and_no_entity_is_busy) {
  auto other = opened(13);
  other.entity = 8;
  const Recipients recipients{{entity, {true, {subscriber(1)}}}, {8, {true, {subscriber(2)}}}};
  const auto plan = plan_sendable({opened(11), opened(12), other}, recipients, with_slots(1, 1));
  BOOST_TEST((plan.fan_out.processed == std::vector<delivery::NotificationId>{11}));
  BOOST_TEST(
      (plan.outcomes == Outcomes{{11, Outcome::written}, {12, Outcome::no_slot}, {13, Outcome::no_slot}}));
}

BOOST_AUTO_TEST_CASE(a_locked_webhook_delays_only_its_own_entity) {
  auto other = opened(12);
  other.entity = 8;
  Recipients recipients{{entity, {true, {subscriber(1)}}}, {8, {true, {subscriber(2)}}}};
  recipients[entity].locked = true;
  const auto plan = plan_sendable({opened(11), opened(13), other}, recipients, with_slots(10, 10));
  BOOST_TEST((plan.fan_out.processed == std::vector<delivery::NotificationId>{12}));
  BOOST_TEST(
      (plan.outcomes ==
       Outcomes{{11, Outcome::recipient_locked}, {12, Outcome::written}, {13, Outcome::recipient_locked}}));
}

// The last free slot is for quick entities. The notification of another entity waits for a slot in line: if
// it were fanned out now, its delivery would be written as pending, and claimed later.
BOOST_AUTO_TEST_CASE(a_slot_that_is_only_for_quick_entities_is_none_for_others) {
  auto slots = with_slots(16, 20);
  const dispatcher::Destination quick{9, 8, "rapido.example:443", false};
  BOOST_REQUIRE(slots.take_new(quick));
  slots.ended(quick.webhook, FairSlots::End::answered, std::chrono::milliseconds(5));
  slots.recorded(quick.webhook);
  while (slots.take_new({100, 100, "lento.example:443", false})) continue;
  BOOST_REQUIRE(slots.take_new({101, 101, "otro.example:443", false}));
  BOOST_REQUIRE((slots.counts().free() == 1 && slots.counts().free_for(false) == 0));
  auto of_quick = opened(12);
  of_quick.entity = quick.entity;
  const Recipients recipients{{entity, {true, {subscriber(1)}}},
                              {quick.entity, {true, {subscriber(quick.webhook)}}}};
  const auto plan = plan_sendable({opened(11), of_quick}, recipients, std::move(slots));
  BOOST_TEST((plan.outcomes == Outcomes{{11, Outcome::no_slot}, {12, Outcome::written}}));
  BOOST_TEST(states(plan.fan_out, quick.webhook) == "l");
}

BOOST_AUTO_TEST_CASE(notifications_that_need_no_slot_are_never_left) {
  auto inactive = subscriber(1);
  inactive.active = false;
  auto bad = opened(12);
  bad.data = "{}";
  const auto plan = plan_sendable({opened(11), bad}, with({inactive}), with_slots(0, 1));
  BOOST_TEST(states(plan.fan_out, 1) == "h");
  BOOST_TEST(plan.fan_out.rejected.size() == 1U);
  BOOST_TEST((plan.outcomes == Outcomes{{11, Outcome::written}, {12, Outcome::rejected}}));
}

BOOST_AUTO_TEST_CASE(an_expired_notification_takes_no_slot_and_holds_up_none) {
  auto expired = opened(11);
  expired.expired = true;
  const auto plan = plan_sendable({expired, opened(12)}, with({subscriber(1)}), with_slots(1, 1));
  BOOST_TEST(states(plan.fan_out, 1) == "pl");
  BOOST_TEST((plan.outcomes == Outcomes{{11, Outcome::written}, {12, Outcome::written}}));
}

BOOST_AUTO_TEST_CASE(without_subscribers_a_key_is_free_again) {
  auto keyed = opened(11);
  keyed.has_key = true;
  const auto none = plan_fan_out({keyed, opened(12)}, with({}), with_slots(10, 10));
  BOOST_TEST((none.unreached == std::vector<delivery::NotificationId>{11}));
  BOOST_TEST((none.processed == std::vector<delivery::NotificationId>{12}));
  BOOST_TEST(plan_fan_out({keyed}, with({subscriber(1)}), with_slots(10, 10)).unreached.empty());
}

BOOST_AUTO_TEST_CASE(an_urgent_notification_waits_for_no_slot_of_its_entity) {
  auto urgent = opened(12);
  urgent.urgent = true;
  auto behind = subscriber(1);
  behind.backlog = true;
  const auto planned = plan_sendable({opened(11), urgent}, with({behind}), with_slots(1, 1));
  BOOST_TEST((planned.outcomes == Outcomes{{11, Outcome::busy}, {12, Outcome::written}}));
  BOOST_TEST(states(planned.fan_out, 1) == "p");
  BOOST_TEST(planned.fan_out.deliveries.at(0).urgent);
}

BOOST_AUTO_TEST_CASE(a_notification_for_later_takes_no_slot_and_needs_no_entity_yet) {
  auto later = opened(11);
  later.later = true;
  for (const auto& recipients : {with({subscriber(1)}), Recipients{}}) {
    const auto planned = plan_sendable({later}, recipients, with_slots(1, 1));
    BOOST_TEST((planned.fan_out.deferred == std::vector<delivery::NotificationId>{11}));
    BOOST_TEST(planned.fan_out.processed.empty());
    BOOST_TEST(planned.fan_out.deliveries.empty());
    BOOST_TEST((planned.outcomes == Outcomes{{11, Outcome::written}}));
  }
  BOOST_TEST(states(plan_sendable({later, opened(12)}, with({subscriber(1)}), with_slots(1, 1)).fan_out, 1) ==
             "l");
  later.data = "{}";
  BOOST_TEST(rejection(later, with({subscriber(1)})) == "datos.evaluacionId: falta");
}

BOOST_AUTO_TEST_CASE(a_notification_that_violates_a_check_is_rejected) {
  auto old = opened(11);
  old.occurred = platform::UtcTime{} - platform::Milliseconds(1);
  BOOST_TEST(rejection(old, with({subscriber(1)})) == "ocurrida_en: es anterior a 1970");
  auto key = opened(11);
  key.valid_key = false;
  BOOST_TEST(rejection(key, with({subscriber(1)})) == "clave: debe tener de 1 a 64 caracteres");
}

BOOST_AUTO_TEST_CASE(data_that_were_not_fetched_are_too_long) {
  auto huge = opened(11);
  huge.bytes = store::longest_data + 1;
  huge.data.reset();
  BOOST_TEST(rejection(huge, with({subscriber(1)})) == "datos: tiene más de 65536 bytes");
}

// Which notifications cut_batch() keeps in the batch, and which it cuts.

namespace {

/// Notification `id` of the entity `of`. It has `bytes` bytes of data, which are too many to be read together
/// with the row, so `data` is unset.
PendingNotification large(delivery::NotificationId id, delivery::EntityId of, std::uint64_t bytes = 60'000) {
  return {id, of, Event::evaluacion_abierta, platform::UtcTime{}, bytes, std::nullopt};
}

std::string kept_and_cut(std::vector<PendingNotification> notifications, std::uint64_t most) {
  const auto cut = dispatcher::cut_batch(notifications, most);
  std::string result;
  for (const auto& one : notifications) result += to_string(one.id) + " ";
  result += "|";
  for (const auto& one : cut) result += " " + to_string(one.id);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_is_bounded_by_bytes_and_small_ones_pass) {
  BOOST_TEST(kept_and_cut({large(1, 1), large(2, 2), large(3, 3), opened(4)}, 130'000) == "1 2 4 | 3");
}

BOOST_AUTO_TEST_CASE(one_at_least_is_in_a_batch) {
  BOOST_TEST(kept_and_cut({large(1, 1), large(2, 2)}, 5) == "1 | 2");
}

BOOST_AUTO_TEST_CASE(no_notification_overtakes_one_of_its_entity_without_room) {
  BOOST_TEST(kept_and_cut({large(1, 8), large(2, entity), opened(3)}, 70'000) == "1 | 2 3");
}

BOOST_AUTO_TEST_CASE(data_that_are_never_fetched_take_no_room) {
  BOOST_TEST(kept_and_cut({large(1, 1, 65'536), large(2, 2)}, 70'000) ==
             "1 | 2");  // the longest that are fetched
  BOOST_TEST(kept_and_cut({large(1, 1, 65'537), large(2, 2)}, 70'000) == "1 2 |");
  BOOST_TEST(kept_and_cut({large(1, 1, 5'000'000'000), large(2, 2), large(3, 3)}, 70'000) == "1 2 | 3");
}

BOOST_AUTO_TEST_SUITE_END()
