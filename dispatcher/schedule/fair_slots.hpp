// The scheduler's shares: which webhook may send next. Send capacity is shared by slot-time, so that an
// entity that holds many slots, or holds them for long, does not delay others
// (docs/delivery.md#how-slots-are-shared). Pure bookkeeping, no clock of its own.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatcher/schedule/fair_queue.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace dispatcher {

/// The time that one slot carries: a receiver that answers faster gets several deliveries for a slot.
inline constexpr SlotTime slot_carries{100};

/// Where a webhook's requests go, as last read from the database.
struct Destination {
  delivery::WebhookId webhook = 0;
  delivery::EntityId entity = 0;
  std::string host;      // with its port
  bool probing = false;  // its last attempt failed in transport or with 429 or 503: only one in flight
};

/// A slot is the right to have one request in flight. A fast receiver gets several deliveries for each slot,
/// one after the other; those that wait hold no slot.
class FairSlots {
 public:
  struct Limits {
    unsigned total = 0;
    unsigned per_webhook = 0;        // deliveries in hand
    unsigned per_host = 0;           // slots; an entity has at most half of them
    platform::Milliseconds longest;  // expected time of an attempt if nothing is known: delivery.timeout
  };
  explicit FairSlots(const Limits& limits) : limits_(limits), reserve_(limits.total / 8) {}

  /// Changes the limits; deliveries in hand keep their slots.
  void limit(const Limits& limits);
  const Limits& limits() const { return limits_; }

  // A webhook must be identified before it waits. What it holds already stays with its old host.
  void identify(const Destination& destination);
  bool identified(delivery::WebhookId webhook) const { return webhooks_.contains(webhook); }
  /// Deliveries of it are due, or (stop_waiting) none are known to be due.
  void wait(delivery::WebhookId webhook);
  void stop_waiting(delivery::WebhookId webhook);
  /// The webhooks that may take something now, least used first.
  struct NextWebhooks {
    std::vector<delivery::WebhookId> webhooks;
    SlotTime until = SlotTime::max();  // webhooks of entities that have used more come after others that wait
  };
  NextWebhooks next(std::size_t most);
  /// The slot-time used by the entity, then by the webhook. The lower rank is served first.
  using Rank = std::pair<SlotTime, SlotTime>;
  Rank rank(delivery::WebhookId webhook) const;

  /// One more delivery of it would follow others on a slot that it holds.
  bool joins(delivery::WebhookId webhook) const;
  /// True: it has one more delivery in hand.
  bool take(delivery::WebhookId webhook);
  /// The same for a new delivery, but not ahead of waiting entities that have used less.
  bool take_new(const Destination& destination);
  /// A taken delivery was not leased.
  void give_back(delivery::WebhookId webhook);
  /// The slot just taken is for a diagnosis: no delivery follows on it until the diagnosis has ended as
  /// `diagnosed`.
  void diagnoses(delivery::WebhookId webhook);
  /// A delivery that is held instead of sent has a result to be recorded, so it counts for its webhook's
  /// limit.
  void take_unsent(delivery::WebhookId webhook);

  enum class Outcome {
    answered,
    asked_to_wait,  // 429 or 503
    failed,
    not_started,  // handed back: it gets no more until another attempt ends or none is in hand
    diagnosed,    // not a delivery; says nothing about the next one
  };
  /// The attempt has ended. The webhook gets its room back when the result is `recorded`. Unless the outcome
  /// is `answered` or `diagnosed`, it gets nothing before that: it may have to rest.
  void ended(delivery::WebhookId webhook, Outcome outcome, platform::Milliseconds took);
  void recorded(delivery::WebhookId webhook);

  /// Something of it is in hand, or ended and not recorded yet.
  bool holds_any(delivery::WebhookId webhook) const;
  /// How many of a webhook's requests may be in flight together.
  unsigned slots(delivery::WebhookId webhook) const;
  unsigned in_hand() const { return in_hand_; }
  /// Free slots, including the reserve.
  unsigned free() const { return limits_.total - std::min(limits_.total, used_); }
  bool full() const { return free() == 0; }
  /// Webhooks and entities remembered.
  std::size_t size() const { return webhooks_.size() + entities_.size(); }

 private:
  struct Host {
    unsigned slots = 0;
    unsigned ordered = 0;                              // webhooks of Place::ordered
    unsigned known = 0;                                // webhooks
    std::map<delivery::EntityId, unsigned> by_entity;  // slots
    FairQueue<delivery::WebhookId>::Order
        waiting_here;  // Place::at_host, by their entity's account when they came
  };
  using Hosts = std::map<std::string, Host>;
  struct Entity {
    FairQueue<delivery::WebhookId> webhooks;
    std::vector<delivery::WebhookId> known;
    unsigned slots = 0;
    bool reserved = false;  // one of its slots is of the reserve
  };
  /// Where a waiting webhook is: it needs no slot (joining), is in the order, or waits for room at its host.
  /// `none`: it does not wait, or has as much in hand as it may have.
  enum class Place { none, joining, ordered, at_host };
  struct Webhook {
    delivery::EntityId entity = 0;
    Hosts::iterator host;
    bool probing = false;
    bool wanted = false;
    Place place = Place::none;
    SlotTime waits_since{};  // its key in Host::waiting_here
    unsigned in_hand = 0;
    unsigned diagnosing = 0;  // of these, diagnoses
    unsigned slots = 0;
    unsigned given = 0;              // deliveries since it last held no slot
    unsigned unrecorded = 0;         // ended, not recorded yet
    bool awaiting_result = false;    // one of these failed, was asked to wait or was handed back
    bool stalled = false;            // something was handed back, and no attempt has ended since
    std::optional<SlotTime> recent;  // average time of the last answers
    std::deque<SlotTime> charged;    // for each in hand
  };
  using Webhooks = std::unordered_map<delivery::WebhookId, Webhook>;

  static unsigned deliveries(const Webhook& webhook) { return webhook.in_hand - webhook.diagnosing; }
  static unsigned deliveries_per_slot(const Webhook& webhook);
  bool has_room(const Webhook& webhook) const;
  bool others_first(delivery::WebhookId id, const Webhook& webhook) const;
  bool may_join(delivery::WebhookId id, const Webhook& webhook) const;
  bool slot_free(const Webhook& webhook) const;
  bool host_has_room(const Webhook& webhook) const;
  unsigned unreserved() const {
    const unsigned all = limits_.total - reserve_;
    return all - std::min(all, used_ - reserved_);
  }

  void pass_present(delivery::EntityId entity);
  void put(delivery::WebhookId id, Webhook& webhook, Place place);
  void place(delivery::WebhookId id, Webhook& webhook);
  bool add_ordered(std::size_t most, NextWebhooks& result);
  void add_joining(std::size_t most, NextWebhooks& result);
  void hold_slot(Webhook& webhook);
  void release_slots(Webhook& webhook);
  void drop_from_hand(delivery::WebhookId id, Webhook& webhook, SlotTime took);
  void let_in(Host& host);
  void join_host(Webhook& webhook, const std::string& name);
  void leave_host(Webhook& webhook);
  void forget(delivery::EntityId entity);
  void forget_idle();

  Limits limits_;
  unsigned reserve_;       // slots
  unsigned used_ = 0;      // slots
  unsigned reserved_ = 0;  // of used_, those of the reserve
  unsigned in_hand_ = 0;   // deliveries
  FairQueue<delivery::EntityId> queue_;
  std::unordered_map<delivery::EntityId, Entity> entities_;
  Webhooks webhooks_;
  Hosts hosts_;
  std::set<delivery::WebhookId> joining_;  // wait, and need no further slot
  delivery::WebhookId joined_ = 0;         // the last one chosen; the next round begins after it
};

class Grants;
/// Distributes up to `most` deliveries among the candidates, one at a time to the lowest rank. Returns how
/// many each got.
std::map<delivery::WebhookId, unsigned> share_out(const FairSlots& slots,
                                                  const FairSlots::NextWebhooks& candidates, unsigned most,
                                                  Grants& grants);

/// Owns what is taken for deliveries about to be leased. What is not kept is given back.
class Grants {
 public:
  /// `slots` outlive it.
  explicit Grants(FairSlots& slots) : slots_(&slots) {}
  Grants(Grants&& other) noexcept : slots_(other.slots_), taken_(std::exchange(other.taken_, {})) {}
  Grants& operator=(Grants&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(taken_, other.taken_);
    return *this;
  }
  ~Grants() {
    for (const auto& [webhook, count] : taken_)
      for (unsigned i = 0; i < count; ++i) slots_->give_back(webhook);
  }

  bool take(delivery::WebhookId webhook) { return slots_->take(webhook) && ++taken_[webhook] > 0; }
  bool take_new(const Destination& destination) {
    return slots_->take_new(destination) && ++taken_[destination.webhook] > 0;
  }
  void add(Grants&& more) {
    for (const auto& [webhook, count] : std::exchange(more.taken_, {})) taken_[webhook] += count;
  }
  /// One delivery was leased; `ended` gives its slot back.
  void keep(delivery::WebhookId webhook) {
    if (const auto found = taken_.find(webhook); found != taken_.end() && found->second > 0) --found->second;
  }
  bool full() const { return slots_->full(); }
  bool holds_any(delivery::WebhookId webhook) const { return slots_->holds_any(webhook); }

 private:
  FairSlots* slots_;
  std::map<delivery::WebhookId, unsigned> taken_;
};

}  // namespace dispatcher
