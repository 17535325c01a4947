// The states of a notification and of a delivery, and every transition between them. No statement makes a
// change of state that is not in these tables (docs/delivery.md#the-life-of-a-delivery): in the store's tests
// a trigger refuses it. The tables omit retention, which deletes finished rows.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace delivery {

enum class NotificationState { pending, processed, rejected, cancelled };
enum class DeliveryState { pending, leased, delivered, failed, cancelled, held };

/// The database's spelling (`estado`), in the order of the columns' definitions.
inline constexpr std::array<std::string_view, 4> notification_state_names{"pendiente", "procesada",
                                                                          "rechazada", "cancelada"};
inline constexpr std::array<std::string_view, 6> delivery_state_names{"pendiente", "en_curso",  "entregada",
                                                                      "fallida",   "cancelada", "retenida"};

constexpr std::string_view name(NotificationState state) {
  return notification_state_names[static_cast<std::size_t>(state)];
}
constexpr std::string_view name(DeliveryState state) {
  return delivery_state_names[static_cast<std::size_t>(state)];
}

enum class Actor {
  evaluation,   // the evaluation system
  api,          // an entity, through the API
  dispatcher,   // its stages: fan-out, claim, results
  maintenance,  // the dispatcher's tasks: expired leases, changed webhooks, retention.held, replays
  administrator,
};

template <class State>
struct Transition {
  std::optional<State> from;  // unset: the row is new
  State to;
  Actor actor;
  std::string_view when;
};

// clang-format off
inline constexpr std::array<Transition<NotificationState>, 11> notification_transitions{{
    {std::nullopt, NotificationState::pending, Actor::evaluation, "a row is written"},
    {std::nullopt, NotificationState::processed, Actor::api, "a test event, with its deliveries"},
    {NotificationState::pending, NotificationState::processed, Actor::dispatcher, "fanned out"},
    {NotificationState::pending, NotificationState::rejected, Actor::dispatcher, "its data or its entity is not valid, or the database refuses it"},
    {NotificationState::pending, NotificationState::cancelled, Actor::administrator, "notification cancel"},
    {NotificationState::processed, NotificationState::cancelled, Actor::administrator, "notification cancel"},
    {NotificationState::pending, NotificationState::cancelled, Actor::evaluation, "called off (notificaciones_anuladas)"},
    {NotificationState::processed, NotificationState::cancelled, Actor::evaluation, "called off; claims cancel its deliveries"},
    {NotificationState::rejected, NotificationState::cancelled, Actor::evaluation, "called off"},
    {NotificationState::rejected, NotificationState::pending, Actor::administrator, "notification retry"},
    {NotificationState::rejected, NotificationState::cancelled, Actor::administrator, "notification discard"},
}};

inline constexpr std::array<Transition<DeliveryState>, 35> delivery_transitions{{
    {std::nullopt, DeliveryState::pending, Actor::dispatcher, "fan-out: no slot is free, older deliveries wait, or the webhook rests"},
    {std::nullopt, DeliveryState::pending, Actor::api, "a test event"},
    {std::nullopt, DeliveryState::leased, Actor::dispatcher, "fan-out, to be sent at once"},
    {std::nullopt, DeliveryState::held, Actor::dispatcher, "fan-out to an inactive webhook"},
    {DeliveryState::pending, DeliveryState::leased, Actor::dispatcher, "claim"},
    {DeliveryState::pending, DeliveryState::cancelled, Actor::dispatcher, "claim: its notification is cancelled, has expired or belongs to another entity"},
    {DeliveryState::pending, DeliveryState::cancelled, Actor::maintenance, "its webhook was deleted"},
    {DeliveryState::pending, DeliveryState::cancelled, Actor::administrator, "notification cancel, webhook enable --discard"},
    {DeliveryState::pending, DeliveryState::held, Actor::maintenance, "its webhook is inactive, or its entity disabled"},
    {DeliveryState::leased, DeliveryState::delivered, Actor::dispatcher, "2xx"},
    {DeliveryState::leased, DeliveryState::pending, Actor::dispatcher, "a failure with a retry to come, or not started"},
    {DeliveryState::leased, DeliveryState::pending, Actor::maintenance, "the lease has expired"},
    {DeliveryState::leased, DeliveryState::failed, Actor::dispatcher, "a failure, the schedule is exhausted"},
    {DeliveryState::leased, DeliveryState::held, Actor::dispatcher, "its secret, or the data of a test event, cannot be read"},
    {DeliveryState::held, DeliveryState::pending, Actor::maintenance, "its webhook may receive"},
    {DeliveryState::held, DeliveryState::pending, Actor::administrator, "webhook enable"},
    {DeliveryState::held, DeliveryState::cancelled, Actor::maintenance, "its webhook was deleted"},
    {DeliveryState::held, DeliveryState::cancelled, Actor::maintenance, "it has been held for longer than retention.held, and its notification is called off or has expired"},
    {DeliveryState::held, DeliveryState::cancelled, Actor::administrator, "notification cancel, webhook enable --discard"},
    {DeliveryState::delivered, DeliveryState::pending, Actor::administrator, "delivery retry"},
    {DeliveryState::failed, DeliveryState::pending, Actor::administrator, "delivery retry"},
    {DeliveryState::failed, DeliveryState::held, Actor::administrator, "delivery retry, its webhook is inactive"},
    {DeliveryState::delivered, DeliveryState::held, Actor::administrator, "delivery retry, its webhook is inactive"},
    {DeliveryState::cancelled, DeliveryState::pending, Actor::administrator, "delivery retry, its notification is neither cancelled nor expired"},
    {DeliveryState::cancelled, DeliveryState::held, Actor::administrator, "delivery retry, its webhook is inactive"},
    {DeliveryState::pending, DeliveryState::held, Actor::administrator, "delivery retry, its webhook is inactive"},
    {DeliveryState::held, DeliveryState::failed, Actor::maintenance, "it has been held for longer than retention.held"},
    {DeliveryState::held, DeliveryState::delivered, Actor::maintenance, "it has been held for longer than retention.held, and was delivered before its replay"},
    {DeliveryState::held, DeliveryState::delivered, Actor::administrator, "its replay is cancelled, and it was delivered before"},
    {DeliveryState::pending, DeliveryState::delivered, Actor::dispatcher, "claim: its notification is cancelled, has expired or belongs to another entity, and it was delivered before its replay"},
    {DeliveryState::pending, DeliveryState::delivered, Actor::maintenance, "its webhook was deleted, and it was delivered before its replay"},
    {DeliveryState::pending, DeliveryState::delivered, Actor::administrator, "its replay is cancelled, and it was delivered before"},
    {DeliveryState::leased, DeliveryState::delivered, Actor::dispatcher, "a failure, the schedule is exhausted, and it was delivered before its replay"},
    {DeliveryState::delivered, DeliveryState::pending, Actor::maintenance, "a replay that its entity asked for"},
    {DeliveryState::failed, DeliveryState::pending, Actor::maintenance, "a replay that its entity asked for"},
}};
// clang-format on

}  // namespace delivery
