#include "expansion.hpp"

#include <optional>
#include <string>

#include "webhook/event_data.hpp"

namespace dispatcher {

namespace {

const store::Recipient* find_recipient(const std::map<store::EntityId, store::Recipient>& recipients,
                                       store::EntityId entity) {
  const auto found = recipients.find(entity);
  return found == recipients.end() ? nullptr : &found->second;
}

std::optional<std::string> reason_to_reject(const store::PendingNotification& notification,
                                            const store::Recipient* recipient) {
  const std::string entity = "entidad_id: la entidad " + std::to_string(notification.entity);
  if (recipient == nullptr) return entity + " no existe";
  if (!recipient->active) return entity + " está desactivada";
  if (!notification.occurred) return "ocurrida_en: no es una fecha del calendario";
  const auto event = webhook::find_event(notification.event);
  if (!event) return "evento: no es uno de los 11 eventos";
  return webhook::check_event_data(*event, notification.data);
}

class Planner {
 public:
  explicit Planner(Slots slots) : slots_(std::move(slots)) {}

  store::BornState state_for(const store::Subscriber& subscriber) {
    const auto webhook = subscriber.target.webhook;
    if (!subscriber.active) return store::BornState::held;
    const bool in_turn = !subscriber.backlog && !subscriber.resting;
    if (in_turn && slots_.available(webhook, subscriber.probing) > 0) {
      slots_.take(webhook, subscriber.probing);
      return store::BornState::leased;
    }
    return store::BornState::pending;  // and so are those that follow: within a plan slots are only taken
  }

 private:
  Slots slots_;
};

}  // namespace

store::Expansion plan_expansion(const std::vector<store::PendingNotification>& notifications,
                                const std::map<store::EntityId, store::Recipient>& recipients, Slots slots) {
  store::Expansion expansion;
  Planner planner(std::move(slots));
  for (const auto& notification : notifications) {
    const auto* recipient = find_recipient(recipients, notification.entity);
    if (auto reason = reason_to_reject(notification, recipient)) {
      expansion.rejected.push_back({notification.id, std::move(*reason)});
      continue;
    }
    expansion.processed.push_back(notification.id);
    const auto event = webhook::find_event(notification.event).value();
    for (const auto& subscriber : recipient->webhooks) {
      if (!subscriber.events.contains(event)) continue;
      expansion.deliveries.push_back(
          {notification.id, subscriber.target.webhook, planner.state_for(subscriber)});
    }
  }
  return expansion;
}

}  // namespace dispatcher
