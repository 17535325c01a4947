// Decides which webhook may send next. Send capacity is shared by slot-time, so that an entity that holds
// many slots, or holds them for long, does not delay others (docs/delivery.md#how-slots-are-shared). Pure
// bookkeeping, no clock of its own.
//
// Account: the slot-time that an entity or a webhook has used.
// In hand: taken for an attempt that has neither ended nor been given back.
// Unrecorded: ended, with a result that is not recorded yet.
//
// Quick: the webhook's last attempt was answered with 2xx, and the last ones within a second on average
// (slow_from). An entity is quick if the last attempt to one of its webhooks was. This is remembered for a
// minute or two (forget_old_answers).
//
// Reserve (SlotCounts): an eighth of all slots, kept for webhooks that hold no slot (reserve_free). Quick
// ones use it before all other slots, so that a broadcast to receivers without a connection does not delay
// them.
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
#include "dispatcher/schedule/recent_ids.hpp"
#include "dispatcher/schedule/slot_counts.hpp"
#include "dispatcher/schedule/waiting_entities.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace dispatcher {

/// Where a webhook's requests go, as last read from the database.
struct Destination {
  delivery::WebhookId webhook = 0;
  delivery::EntityId entity = 0;
  std::string host;            // with its port
  bool one_at_a_time = false;  // because the last attempt failed in transport or with 429 or 503
};

class FairSlots {
 public:
  struct Limits {
    unsigned total = 0;
    unsigned per_webhook = 0;        // in hand or unrecorded
    unsigned per_host = 0;           // slots; an entity gets at most half of them, but at least one
    platform::Milliseconds longest;  // expected time of an attempt if nothing is known: delivery.timeout
  };
  explicit FairSlots(const Limits& limits) : limits_(limits), counts_(limits.total) {}

  /// Changes the limits; deliveries in hand keep their slots.
  void limit(const Limits& limits);
  const Limits& limits() const { return limits_; }

  /// Tells where a webhook's requests go: required before wait(). A new host is ignored while the webhook
  /// holds a slot.
  void identify(const Destination& destination);
  bool identified(delivery::WebhookId webhook) const { return webhooks_.contains(webhook); }
  /// Deliveries of the webhook are due: it waits until stop_waiting().
  void wait(delivery::WebhookId webhook);
  void stop_waiting(delivery::WebhookId webhook);
  /// Waiting webhooks that may take a delivery now: first those that need a slot, one of each entity, the
  /// lowest account first; then, in turns, those that need no further slot.
  struct NextWebhooks {
    std::vector<delivery::WebhookId> webhooks;
    /// The account of the first entity that did not fit in the list. Entities with a higher account get no
    /// further slot, but for those that goes_first().
    SlotTime until = SlotTime::max();
  };
  NextWebhooks next(std::size_t most);
  /// The account of the entity, then the account of the webhook. The lower rank is served first.
  using Rank = std::pair<SlotTime, SlotTime>;
  Rank rank(delivery::WebhookId webhook) const;

  /// True: the webhook's next delivery can have a slot of the reserve, whatever its entity has used.
  bool goes_first(delivery::WebhookId webhook) const;
  /// True: the webhook's next delivery needs no further slot.
  bool joins(delivery::WebhookId webhook) const;
  /// Takes one delivery for the webhook, with a slot if it needs one. False: the webhook may take none now.
  bool take(delivery::WebhookId webhook);
  /// Identifies the webhook and takes a new delivery for it, but not ahead of waiting entities that have used
  /// less.
  bool take_new(const Destination& destination);
  /// Gives back one delivery that was taken but not leased.
  void give_back(delivery::WebhookId webhook);
  /// Counts as unrecorded a delivery that is held instead of sent.
  void take_unsent(delivery::WebhookId webhook);

  enum class End {
    answered,        // 2xx
    answered_error,  // another status, but for 429 and 503
    asked_to_wait,   // 429 or 503
    failed,          // in transport
    /// The delivery was not sent. The webhook takes nothing until another of its deliveries ends with another
    /// end, or none of its deliveries is in hand.
    not_started,
  };
  /// An attempt has ended and is unrecorded. The webhook gives up slots that it does not need. Unless the
  /// end is `answered` or `answered_error`, the webhook takes nothing while it has anything unrecorded: it
  /// may have to rest.
  void ended(delivery::WebhookId webhook, End end, platform::Milliseconds took);
  /// The result of an attempt is recorded.
  void recorded(delivery::WebhookId webhook);

  bool is_quick(delivery::EntityId entity) const { return quick_entities_.contains(entity); }
  /// Forgets which webhooks and entities were quick only before the last call.
  void forget_old_answers() {
    quick_webhooks_.age();
    quick_entities_.age();
  }
  bool is_quick(delivery::WebhookId webhook) const { return quick_webhooks_.contains(webhook); }
  /// True: the webhook has something in hand or unrecorded.
  bool holds_any(delivery::WebhookId webhook) const;
  unsigned slots(delivery::WebhookId webhook) const;
  unsigned in_hand() const { return in_hand_; }
  const SlotCounts& counts() const { return counts_; }
  bool full() const { return counts_.free() == 0; }
  bool full_for(delivery::EntityId entity) const { return counts_.free_for(is_quick(entity)) == 0; }
  /// Webhooks and entities remembered.
  std::size_t size() const { return webhooks_.size() + entities_.size(); }

 private:
  static constexpr std::size_t remembered = 16'384;

  /// What an entity has at a host.
  struct Share {
    unsigned slots = 0;
    FairQueue<delivery::WebhookId>::Order waiting;  // webhooks in Place::at_host, by their account
  };
  /// `queue`: entities by the slot-time that they have used at this host. An entity waits there while it has
  /// webhooks in Place::at_host. The accounts of FairSlots::queue_ are no fair order at a host. A new entity
  /// begins at the minimum of queue_, which goes on rising while another entity waits for the host. So the
  /// new entity would seem to have used more than the waiting one.
  struct Host {
    unsigned slots = 0;
    unsigned ordered = 0;  // webhooks in Place::ordered
    unsigned known = 0;    // webhooks
    std::map<delivery::EntityId, Share> by_entity;
    FairQueue<delivery::EntityId> queue;
  };
  using Hosts = std::map<std::string, Host>;
  struct Entity {
    FairQueue<delivery::WebhookId> webhooks;
    std::vector<delivery::WebhookId> known;
    unsigned slots = 0;
  };
  /// Where a waiting webhook is. `joining`: needs no further slot; `ordered`: in its entity's queue for a
  /// slot; `at_host`: waits for room at its host. `none`: does not wait, or may take nothing now (has_room).
  enum class Place { none, joining, ordered, at_host };
  struct Webhook {
    delivery::EntityId entity = 0;
    Hosts::iterator host;
    bool one_at_a_time = false;
    bool wanted = false;  // from wait() to stop_waiting()
    Place place = Place::none;
    SlotTime waits_since{};  // the key in Share::waiting
    unsigned in_hand = 0;
    unsigned slots = 0;
    SlotCounts::Half reserved;  // of one of its slots
    unsigned given = 0;         // deliveries taken since the webhook last held no slot
    unsigned unrecorded = 0;
    bool awaiting_result = false;    // an unrecorded attempt ended in another way than with an answer
    bool stalled = false;            // the last attempt to end was not started
    std::optional<SlotTime> recent;  // moving average of the time of answers
    std::deque<SlotTime> charged;    // expected time of each delivery in hand, oldest first
  };
  using Webhooks = std::unordered_map<delivery::WebhookId, Webhook>;

  static unsigned deliveries_per_slot(const Webhook& webhook);
  bool is_quick(delivery::WebhookId id, const Webhook& webhook) const;
  void note_answer(delivery::WebhookId id, const Webhook& webhook, End end);
  SlotTime used_by(delivery::WebhookId id, const Webhook& webhook) const;
  void update_order(delivery::EntityId entity);
  bool has_room(const Webhook& webhook) const;
  bool others_first(delivery::WebhookId id, const Webhook& webhook) const;
  bool may_join(delivery::WebhookId id, const Webhook& webhook) const;
  bool goes_first(delivery::WebhookId id, const Webhook& webhook) const;
  bool may_use_reserve(const Webhook& webhook) const;
  bool takes_reserve(delivery::WebhookId id, const Webhook& webhook) const;
  bool reserve_free(delivery::WebhookId id, const Webhook& webhook) const;
  bool slot_free(delivery::WebhookId id, const Webhook& webhook) const;
  bool host_has_room(const Webhook& webhook) const;
  void pass_present(FairQueue<delivery::EntityId>& queue, delivery::EntityId entity) const;
  void put(delivery::WebhookId id, Webhook& webhook, Place place);
  void place(delivery::WebhookId id, Webhook& webhook);
  bool add_ordered(std::size_t most, NextWebhooks& result);
  void add_joining(std::size_t most, NextWebhooks& result);
  void hold_slot(delivery::WebhookId id, Webhook& webhook);
  void release_slots(Webhook& webhook);
  void drop_from_hand(delivery::WebhookId id, Webhook& webhook, SlotTime took);
  void let_in(Host& host);
  bool let_in_each(Host& host);
  static void drop_share(Host& host, delivery::EntityId entity);
  void join_host(Webhook& webhook, const std::string& name);
  void leave_host(Webhook& webhook);
  bool is_busy(delivery::WebhookId id) const;
  void forget_webhook(delivery::WebhookId id);
  void forget(delivery::EntityId entity);
  void forget_idle_of(Entity& entity);
  void forget_idle();

  Limits limits_;
  SlotCounts counts_;
  unsigned in_hand_ = 0;  // of all webhooks
  FairQueue<delivery::EntityId> queue_;
  std::unordered_map<delivery::EntityId, Entity> entities_;
  Webhooks webhooks_;
  RecentIds<delivery::EntityId> quick_entities_{remembered};
  RecentIds<delivery::WebhookId> quick_webhooks_{remembered};
  Hosts hosts_;
  std::set<delivery::WebhookId> joining_;  // webhooks in Place::joining
  delivery::WebhookId joined_ = 0;         // the last of joining_ that next() chose
};

class Grants;
/// Takes up to `most` deliveries, each for the candidate with the lowest rank at that moment. Returns how
/// many each webhook got.
std::map<delivery::WebhookId, unsigned> share_out(const FairSlots& slots,
                                                  const FairSlots::NextWebhooks& candidates, unsigned most,
                                                  Grants& grants);

/// Owns deliveries that are taken and about to be leased. The destructor gives back those that were not
/// kept with keep().
class Grants {
 public:
  /// `slots` outlive this object.
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
  /// One delivery was leased: it stays in hand until FairSlots::ended().
  void keep(delivery::WebhookId webhook) {
    if (const auto found = taken_.find(webhook); found != taken_.end() && found->second > 0) --found->second;
  }
  bool full() const { return slots_->full(); }
  /// True: no free slot is left that the entity may use.
  bool full_for(delivery::EntityId entity) const { return slots_->full_for(entity); }
  bool holds_any(delivery::WebhookId webhook) const { return slots_->holds_any(webhook); }

 private:
  FairSlots* slots_;
  std::map<delivery::WebhookId, unsigned> taken_;
};

}  // namespace dispatcher
