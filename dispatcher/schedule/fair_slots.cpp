#include "dispatcher/schedule/fair_slots.hpp"

#include <algorithm>

#include "dispatcher/schedule/waiting_entities.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr SlotTime least_charge = 1ms;
/// A webhook with slower answers gets no slot of the reserve.
constexpr SlotTime slow_from = 1s;
/// With so many webhooks of one entity known, those that are idle are forgotten before one more is added. An
/// entity has five; the others were deleted.
constexpr std::size_t many_webhooks = 16;
}  // namespace

void FairSlots::limit(const Limits& limits) {
  limits_ = limits;
  counts_.limit(limits.total);
  for (auto& [name, host] : hosts_) let_in(host);
}

void FairSlots::identify(const Destination& destination) {
  const auto id = destination.webhook;
  const auto [found, added] = webhooks_.try_emplace(id);
  auto& webhook = found->second;
  if (added) {
    webhook.entity = destination.entity;
    auto& entity = entities_[webhook.entity];
    forget_idle_of(entity);
    entity.known.push_back(id);
    join_host(webhook, destination.host);
  } else if (webhook.slots == 0 && webhook.host->first != destination.host) {
    const auto wanted = std::exchange(webhook.wanted, false);
    quick_webhooks_.forget(id);
    place(id, webhook);
    leave_host(webhook);
    join_host(webhook, destination.host);
    webhook.wanted = wanted;
  }
  webhook.one_at_a_time = destination.one_at_a_time;
  place(id, webhook);
}

void FairSlots::wait(delivery::WebhookId id) {
  const auto found = webhooks_.find(id);
  if (found == webhooks_.end()) return;
  found->second.wanted = true;
  place(id, found->second);
}

void FairSlots::stop_waiting(delivery::WebhookId id) {
  const auto found = webhooks_.find(id);
  if (found == webhooks_.end()) return;
  auto& webhook = found->second;
  webhook.wanted = false;
  place(id, webhook);
  let_in(webhook.host->second);
  forget(webhook.entity);
  forget_idle();
}

FairSlots::NextWebhooks FairSlots::next(std::size_t most) {
  NextWebhooks result;
  // Ordered and joining webhooks each get a part of `most`, so that neither kind excludes the other.
  while (add_ordered(joining_.empty() ? most : most / 2, result)) result = {};
  add_joining(most, result);
  return result;
}

/// Adds one webhook of each waiting entity, the lowest account first. True: webhooks without room at their
/// host have left Place::ordered, and other webhooks may have entered it.
bool FairSlots::add_ordered(std::size_t most, NextWebhooks& result) {
  std::vector<delivery::WebhookId> without_room;
  std::vector<delivery::EntityId> without_slot;
  const auto last_for_reserve = queue_.least() + limits_.longest;
  WaitingEntities waiting(queue_);
  if (counts_.unreserved() == 0) {
    for (const bool quick : {false, true}) {
      if (counts_.reserved(quick) == 0) waiting.skip_all(quick);
    }
  }
  // So many quick ones come first, because the reserve has room for them. Others have half of the list at
  // least.
  auto room = std::min<std::size_t>(counts_.reserved(true), most / 2);
  while (const auto entity = full() ? std::nullopt : waiting.first(room > 0)) {
    if (counts_.unreserved() == 0 && entity->used > last_for_reserve) {
      waiting.skip_all(entity->quick);
      continue;
    }
    if (result.webhooks.size() >= most) {
      result.until = entity->used;
      break;
    }
    waiting.skip(*entity);
    if (entity->quick && room > 0) --room;
    for (const auto& [own, id] : entities_.at(entity->id).webhooks.order()) {
      const auto& webhook = webhooks_.at(id);
      if (!host_has_room(webhook)) {
        without_room.push_back(id);
      } else if (slot_free(id, webhook)) {
        result.webhooks.push_back(id);
        break;
      }
    }
    if (entity->quick &&
        (result.webhooks.empty() || webhooks_.at(result.webhooks.back()).entity != entity->id))
      without_slot.push_back(entity->id);
  }
  for (const auto entity : without_slot) update_order(entity);  // its answers may be forgotten
  for (const auto id : without_room) put(id, webhooks_.at(id), Place::at_host);
  for (const auto id : without_room) let_in(webhooks_.at(id).host->second);
  return !without_room.empty();
}

/// Round robin over joining_.
void FairSlots::add_joining(std::size_t most, NextWebhooks& result) {
  if (in_hand_ >= counts_.used() + limits_.total) return;
  const auto start = joining_.upper_bound(joined_);
  const auto add = [&](auto from, auto to) {
    for (; from != to && result.webhooks.size() < most; ++from) result.webhooks.push_back(joined_ = *from);
  };
  const auto first = joining_.begin();
  add(start, joining_.end());
  add(first, start);
}

FairSlots::Rank FairSlots::rank(delivery::WebhookId id) const {
  const auto found = webhooks_.find(id);
  if (found == webhooks_.end()) return {};
  const auto entity = found->second.entity;
  const auto behind =
      queue_.behind(entity) > SlotTime{} ? slot_carries : SlotTime{};  // as WaitingEntities counts
  return {queue_.account(entity) + behind, entities_.at(entity).webhooks.account(id)};
}

bool FairSlots::joins(delivery::WebhookId id) const {
  const auto found = webhooks_.find(id);
  return found != webhooks_.end() && may_join(id, found->second);
}

bool FairSlots::goes_first(delivery::WebhookId id) const {
  const auto found = webhooks_.find(id);
  return found != webhooks_.end() && goes_first(id, found->second);
}

bool FairSlots::take(delivery::WebhookId id) {
  const auto found = webhooks_.find(id);
  if (found == webhooks_.end()) return false;
  auto& webhook = found->second;
  if (!has_room(webhook)) return false;
  if (!may_join(id, webhook)) {
    place(id, webhook);
    if (!slot_free(id, webhook) || !host_has_room(webhook)) return false;
    hold_slot(id, webhook);
  }
  const bool known = webhook.recent && !webhook.one_at_a_time;
  const auto charge = known ? std::max(*webhook.recent, least_charge) : limits_.longest;
  webhook.charged.push_back(charge);
  auto& host = webhook.host->second;
  pass_present(queue_, webhook.entity);
  pass_present(host.queue, webhook.entity);
  ++webhook.given;
  ++webhook.in_hand;
  ++in_hand_;
  queue_.charge(webhook.entity, charge);
  host.queue.charge(webhook.entity, charge);
  entities_.at(webhook.entity).webhooks.charge(id, charge);
  place(id, webhook);
  return true;
}

/// Raises the minimum, at which the account of a new entity begins: what an entity has used while slots were
/// free must not count against it when a new entity comes.
void FairSlots::pass_present(FairQueue<delivery::EntityId>& queue, delivery::EntityId entity) const {
  auto present = queue.account(entity);
  if (const auto first = WaitingEntities(queue).first()) present = std::min(present, first->used);
  queue.pass(present - limits_.longest);
}

bool FairSlots::take_new(const Destination& destination) {
  identify(destination);
  const auto& webhook = webhooks_.at(destination.webhook);
  const auto waiting = queue_.order().size();
  // A new delivery may go ahead of the entities that wait if it gets a slot of the reserve.
  const bool others_first = !takes_reserve(destination.webhook, webhook) && counts_.unreserved() <= waiting &&
                            WaitingEntities(queue_).first()->used < used_by(destination.webhook, webhook);
  const auto& host = webhook.host->second;
  const bool others_first_at_host = host.slots + host.ordered >= limits_.per_host &&
                                    host.queue.least() < host.queue.account(webhook.entity);
  if ((may_join(destination.webhook, webhook) || (!others_first && !others_first_at_host)) &&
      take(destination.webhook))
    return true;
  forget(destination.entity);
  return false;
}

void FairSlots::give_back(delivery::WebhookId id) {
  if (const auto found = webhooks_.find(id); found != webhooks_.end() && found->second.in_hand > 0)
    drop_from_hand(id, found->second, SlotTime{});
}

void FairSlots::take_unsent(delivery::WebhookId id) {
  if (const auto found = webhooks_.find(id); found != webhooks_.end()) {
    ++found->second.unrecorded;
    place(id, found->second);
  }
}

void FairSlots::ended(delivery::WebhookId id, End end, platform::Milliseconds took) {
  const auto found = webhooks_.find(id);
  if (found == webhooks_.end() || found->second.in_hand == 0) return;
  auto& webhook = found->second;
  ++webhook.unrecorded;
  if (end == End::answered || end == End::answered_error || end == End::asked_to_wait)
    webhook.recent = webhook.recent ? *webhook.recent + (took - *webhook.recent) / 4 : took;
  if (end == End::failed) webhook.recent.reset();
  note_answer(id, webhook, end);
  webhook.stalled = end == End::not_started;
  // The webhook takes nothing until these results are recorded: it may have to rest, and no newer delivery
  // may overtake one that was not started.
  if (end != End::answered && end != End::answered_error) webhook.awaiting_result = true;
  drop_from_hand(id, webhook, end == End::not_started ? SlotTime{} : std::max(took, least_charge));
}

void FairSlots::recorded(delivery::WebhookId id) {
  const auto found = webhooks_.find(id);
  if (found == webhooks_.end() || found->second.unrecorded == 0) return;
  auto& webhook = found->second;
  if (--webhook.unrecorded == 0) webhook.awaiting_result = false;
  place(id, webhook);
  forget(webhook.entity);
}

bool FairSlots::holds_any(delivery::WebhookId id) const {
  const auto found = webhooks_.find(id);
  return found != webhooks_.end() && found->second.in_hand + found->second.unrecorded > 0;
}

unsigned FairSlots::slots(delivery::WebhookId id) const {
  const auto found = webhooks_.find(id);
  return found == webhooks_.end() ? 0 : found->second.slots;
}

unsigned FairSlots::deliveries_per_slot(const Webhook& webhook) {
  if (!webhook.recent || webhook.one_at_a_time) return 1;
  return static_cast<unsigned>(
      std::max<SlotTime::rep>(1, slot_carries / std::max(*webhook.recent, least_charge)));
}

bool FairSlots::is_quick(delivery::WebhookId id, const Webhook& webhook) const {
  return !webhook.one_at_a_time && quick_webhooks_.contains(id);
}

/// Remembers whether the webhook is quick. One that is not makes its entity count as not quick until another
/// one answers.
void FairSlots::note_answer(delivery::WebhookId id, const Webhook& webhook, End end) {
  if (end == End::not_started) return;
  const bool quick = end == End::answered && webhook.recent && *webhook.recent <= slow_from;
  if (quick) {
    quick_webhooks_.note(id);
    quick_entities_.note(webhook.entity);
  } else {
    quick_webhooks_.forget(id);
    quick_entities_.forget(webhook.entity);
  }
}

/// What the webhook's entity has used, as compared with those that wait (WaitingEntities).
SlotTime FairSlots::used_by(delivery::WebhookId id, const Webhook& webhook) const {
  return queue_.account(webhook.entity) + (is_quick(id, webhook) ? SlotTime{} : slot_carries);
}

/// True: the webhook's own limit and the results of its last attempts allow it to take one more delivery.
bool FairSlots::has_room(const Webhook& webhook) const {
  const unsigned limit = webhook.one_at_a_time ? 1 : limits_.per_webhook;
  return !webhook.awaiting_result && !webhook.stalled && webhook.in_hand + webhook.unrecorded < limit;
}

/// True: no slot is free (at the webhook's host, or anywhere outside the reserve), and an entity or webhook
/// that has used less slot-time waits for one. A webhook of the same entity that waits for room at the host
/// counts even if it has used more.
bool FairSlots::others_first(delivery::WebhookId id, const Webhook& webhook) const {
  const auto& host = webhook.host->second;
  if (host.slots >= limits_.per_host && !host.queue.order().empty()) {
    const auto& [account, first] = *host.queue.order().begin();
    if (account < host.queue.account(webhook.entity) || first == webhook.entity) return true;
  }
  if (counts_.unreserved() > 0 || queue_.order().empty()) return false;
  const auto first = *WaitingEntities(queue_).first();
  if (first.id != webhook.entity) return first.used < used_by(id, webhook);
  const auto& own = entities_.at(first.id).webhooks;
  return own.order().begin()->first < own.account(id);
}

/// True: the webhook may take a further delivery with the slots that it holds. While others wait for a slot,
/// it takes no more deliveries than its slots carry at once, counted since it last held no slot: otherwise it
/// might never release them.
bool FairSlots::may_join(delivery::WebhookId id, const Webhook& webhook) const {
  const auto carries = webhook.slots * deliveries_per_slot(webhook);
  return webhook.in_hand < carries && in_hand_ < counts_.used() + limits_.total &&
         (webhook.given < carries || !others_first(id, webhook));
}

/// True: the webhook is quick and holds no slot, and the quick ones' half of the reserve has room. They use
/// this half before all other slots.
bool FairSlots::goes_first(delivery::WebhookId id, const Webhook& webhook) const {
  return is_quick(id, webhook) && counts_.reserved(true) > 0 && webhook.slots == 0 &&
         may_use_reserve(webhook);
}

/// False for a webhook that is known to be slow, and for an entity with an account of more than
/// Limits::longest above the minimum.
bool FairSlots::may_use_reserve(const Webhook& webhook) const {
  const bool slow = webhook.one_at_a_time || (webhook.recent && *webhook.recent > slow_from);
  return !slow && queue_.account(webhook.entity) <= queue_.least() + limits_.longest;
}

/// True: a slot of the reserve is free for the webhook. The second half is for entities that hold no slot,
/// and webhooks that are not quick. So a webhook holds at most one slot of the reserve, also when it becomes
/// slow.
bool FairSlots::reserve_free(delivery::WebhookId id, const Webhook& webhook) const {
  if (is_quick(id, webhook)) return goes_first(id, webhook);
  return counts_.reserved(false) > 0 && entities_.at(webhook.entity).slots == 0 && may_use_reserve(webhook);
}

/// True: the webhook's next slot, if it gets one, is of the reserve.
bool FairSlots::takes_reserve(delivery::WebhookId id, const Webhook& webhook) const {
  return counts_.unreserved() == 0 || goes_first(id, webhook);
}

bool FairSlots::slot_free(delivery::WebhookId id, const Webhook& webhook) const {
  return !full() && (counts_.unreserved() > 0 || reserve_free(id, webhook));
}

bool FairSlots::host_has_room(const Webhook& webhook) const {
  const auto& host = webhook.host->second;
  if (host.slots >= limits_.per_host) return false;
  const auto own = host.by_entity.find(webhook.entity);
  return own == host.by_entity.end() || own->second.slots < std::max(1U, limits_.per_host / 2);
}

void FairSlots::put(delivery::WebhookId id, Webhook& webhook, Place place) {
  if (webhook.place == place) {
    if (place == Place::ordered) update_order(webhook.entity);  // the webhook may have become quick
    return;
  }
  auto& queue = entities_.at(webhook.entity).webhooks;
  auto& host = webhook.host->second;
  const bool makes_room = webhook.place == Place::ordered && place != Place::at_host;
  // Makes the entity active in the host's queue before the webhook leaves its old place: otherwise the
  // minimum at the host could pass the entity's account in between.
  if (place == Place::at_host) host.queue.enter(webhook.entity);
  if (place == Place::ordered) host.queue.charge(webhook.entity, SlotTime{});
  if (webhook.place == Place::joining) joining_.erase(id);
  if (webhook.place == Place::at_host) {
    auto& waiting = host.by_entity.at(webhook.entity).waiting;
    waiting.erase({webhook.waits_since, id});
    if (waiting.empty()) host.queue.leave(webhook.entity);
    drop_share(host, webhook.entity);
  }
  if (webhook.place == Place::ordered) {
    queue.leave(id);
    --host.ordered;
    host.queue.release(webhook.entity, SlotTime{});
    if (queue.order().empty())
      queue_.leave(webhook.entity);
    else
      update_order(webhook.entity);
  }
  webhook.place = place;
  if (place == Place::joining) joining_.insert(id);
  if (place == Place::at_host) {
    webhook.waits_since = queue.account(id);
    host.by_entity[webhook.entity].waiting.emplace(webhook.waits_since, id);
  }
  if (place == Place::ordered) {
    queue.enter(id);
    ++host.ordered;
    queue_.enter(webhook.entity);
    update_order(webhook.entity);
  }
  if (makes_room) let_in(host);
}

/// Puts a waiting entity behind all quick ones, unless a quick webhook of it waits for a slot.
void FairSlots::update_order(delivery::EntityId id) {
  const bool quick = std::ranges::any_of(entities_.at(id).webhooks.order(), [this](const auto& one) {
    return is_quick(one.second, webhooks_.at(one.second));
  });
  queue_.put_behind(id, quick ? SlotTime{} : WaitingEntities::behind_quick);
}

void FairSlots::place(delivery::WebhookId id, Webhook& webhook) {
  if (!webhook.wanted || !has_room(webhook)) return put(id, webhook, Place::none);
  if (may_join(id, webhook)) return put(id, webhook, Place::joining);
  if (webhook.place != Place::at_host)
    put(id, webhook, host_has_room(webhook) ? Place::ordered : Place::at_host);
}

void FairSlots::hold_slot(delivery::WebhookId id, Webhook& webhook) {
  auto& entity = entities_.at(webhook.entity);
  const auto half = takes_reserve(id, webhook) ? SlotCounts::Half(is_quick(id, webhook)) : std::nullopt;
  if (half) webhook.reserved = half;
  counts_.take(half);
  ++entity.slots;
  ++webhook.slots;
  ++webhook.host->second.slots;
  ++webhook.host->second.by_entity[webhook.entity].slots;
}

/// Releases the slots that the webhook does not need for what it has in hand.
void FairSlots::release_slots(Webhook& webhook) {
  auto& entity = entities_.at(webhook.entity);
  auto& host = webhook.host->second;
  const unsigned each = deliveries_per_slot(webhook);
  const unsigned needed = (webhook.in_hand + each - 1) / each;
  for (; webhook.slots > needed; --webhook.slots) {
    counts_.release(std::exchange(webhook.reserved, std::nullopt));
    --entity.slots;
    --host.slots;
    --host.by_entity.at(webhook.entity).slots;
  }
  drop_share(host, webhook.entity);
  if (webhook.slots == 0) webhook.given = 0;
}

void FairSlots::drop_from_hand(delivery::WebhookId id, Webhook& webhook, SlotTime took) {
  --in_hand_;
  --webhook.in_hand;
  if (webhook.in_hand == 0) webhook.stalled = false;
  const auto correction = took - webhook.charged.front();
  webhook.charged.pop_front();
  auto& host = webhook.host->second;
  queue_.release(webhook.entity, correction);
  host.queue.release(webhook.entity, correction);
  entities_.at(webhook.entity).webhooks.release(id, correction);
  release_slots(webhook);
  place(id, webhook);
  let_in(host);
  while (host.queue.forget_one()) continue;
  forget_idle();
}

/// Moves as many webhooks from Place::at_host to Place::ordered as the host has room for.
void FairSlots::let_in(Host& host) {
  while (let_in_each(host)) continue;
}

/// Moves one webhook of each entity, the lowest account first. Skips entities that hold half of the host's
/// slots. True: at least one webhook was moved.
bool FairSlots::let_in_each(Host& host) {
  bool any = false;
  const auto& order = host.queue.order();
  for (auto next = order.begin(); next != order.end() && host.slots + host.ordered < limits_.per_host;) {
    const auto id = host.by_entity.at((next++)->second).waiting.begin()->second;
    auto& webhook = webhooks_.at(id);
    if (!host_has_room(webhook)) continue;
    put(id, webhook, Place::ordered);
    any = true;
  }
  return any;
}

/// Forgets the entity's Share of the host if it has no slots and no webhooks that wait.
void FairSlots::drop_share(Host& host, delivery::EntityId entity) {
  const auto found = host.by_entity.find(entity);
  if (found != host.by_entity.end() && found->second.slots == 0 && found->second.waiting.empty())
    host.by_entity.erase(found);
}

void FairSlots::join_host(Webhook& webhook, const std::string& name) {
  webhook.host = hosts_.try_emplace(name).first;
  ++webhook.host->second.known;
}

void FairSlots::leave_host(Webhook& webhook) {
  if (--webhook.host->second.known == 0) hosts_.erase(webhook.host);
}

/// True: the webhook waits or holds anything.
bool FairSlots::is_busy(delivery::WebhookId id) const {
  const auto& webhook = webhooks_.at(id);
  return webhook.in_hand > 0 || webhook.unrecorded > 0 || webhook.wanted;
}

void FairSlots::forget_webhook(delivery::WebhookId id) {
  leave_host(webhooks_.at(id));
  webhooks_.erase(id);
}

/// Forgets the entity and its webhooks, unless queue_ knows the entity, or one of its webhooks is busy.
void FairSlots::forget(delivery::EntityId id) {
  const auto found = entities_.find(id);
  if (found == entities_.end() || queue_.knows(id)) return;
  const auto& known = found->second.known;
  if (std::ranges::any_of(known, [this](auto webhook) { return is_busy(webhook); })) return;
  for (const auto webhook : known) forget_webhook(webhook);
  entities_.erase(found);
}

/// Forgets idle webhooks of an entity with many_webhooks. Without this, an entity that is never idle would
/// keep every webhook that it has ever had.
void FairSlots::forget_idle_of(Entity& entity) {
  if (entity.known.size() < many_webhooks) return;
  std::erase_if(entity.known, [this](auto webhook) {
    if (is_busy(webhook)) return false;
    forget_webhook(webhook);
    return true;
  });
  while (entity.webhooks.forget_one()) continue;
}

void FairSlots::forget_idle() {
  while (const auto entity = queue_.forget_one()) forget(*entity);
}

std::map<delivery::WebhookId, unsigned> share_out(const FairSlots& slots,
                                                  const FairSlots::NextWebhooks& candidates, unsigned most,
                                                  Grants& grants) {
  std::set<std::pair<FairSlots::Rank, delivery::WebhookId>> order;
  for (const auto webhook : candidates.webhooks) order.emplace(slots.rank(webhook), webhook);
  std::map<delivery::WebhookId, unsigned> granted;
  for (unsigned total = 0; !order.empty() && total < most;) {
    const auto [rank, webhook] = *order.begin();
    order.erase(order.begin());
    if (const auto now = slots.rank(webhook); rank < now) {
      order.emplace(now, webhook);  // another webhook of its entity has taken a delivery
    } else if ((rank.first <= candidates.until || slots.joins(webhook) || slots.goes_first(webhook)) &&
               grants.take(webhook)) {
      ++granted[webhook];
      ++total;
      order.emplace(slots.rank(webhook), webhook);
    }
  }
  return granted;
}

}  // namespace dispatcher
