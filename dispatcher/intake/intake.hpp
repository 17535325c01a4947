// What the database has for the network: claims of what is due, and the fan-out of notifications.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "dispatcher/intake/fan_out.hpp"
#include "dispatcher/intake/locked_notifications.hpp"
#include "dispatcher/intake/pacer.hpp"
#include "dispatcher/intake/quarantine.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

/// Deliveries leased to this dispatcher, ready to be sent, and the slots taken for them.
struct LeasedBatch {
  explicit LeasedBatch(FairSlots& slots) : grants(slots) {}
  struct Destination {
    store::Target target;
    std::string host;
    platform::MonotonicTime read_at;  // it stood so then, or a moment before
  };
  Grants grants;
  std::vector<delivery::LeasedDelivery> deliveries;
  std::map<delivery::WebhookId, Destination> destinations;
  platform::MonotonicTime leased_at{};  // or a little before
  bool worked = false;                  // something was done, even if there is nothing to send
};

/// What is paused rests until that ends.
void rest_paused(PausedParts& paused, std::vector<store::ReceivingWebhook>& receiving);

class Intake {
 public:
  /// `metrics` outlives it.
  Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);

  // Each appends to `into`, also when it throws: what has been leased is to be sent. They throw what concerns
  // the session or the server; what the database refuses keeps its webhook, or that notification, waiting
  // alone.

  /// Takes what is due, in the order of `slots` and as far as they go.
  void claim(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into);

  /// Takes what is to be tried ahead of its schedule, as far as `slots` goes.
  void claim_early(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into);

  /// Turns notifications into deliveries, in the order of arrival and entities with many in turn: those that
  /// can be sent at once, as far as `slots` goes.
  void fan_out(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into);

  /// Turns also those into deliveries that will have to wait, within a share of the time: fan-out never
  /// waits for capacity to send, and never takes it from what can be sent. So too, one by one, the entities
  /// of which the database refuses something.
  void fan_out_ahead(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into);

  /// Turns those into deliveries whose rows another session keeps locked, and marks them once it does not:
  /// what any writer can do to its table keeps no notification waiting.
  void fan_out_locked(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into);
  /// When `fan_out_locked` has something to do.
  std::optional<platform::MonotonicTime> next_locked() const { return locked_.next_due(); }

 private:
  store::Lease new_lease();
  std::vector<delivery::WebhookId> take_due(ReadyWebhooks& ready, FairSlots& slots);
  void claim_part(store::Session& session, ReadyWebhooks& ready, FairSlots& slots,
                  const std::vector<store::ClaimRequest>& requests, LeasedBatch& into);
  void claim_recovering(store::Session& session, QueueScanner& scanner, LeasedBatch& into);
  void claim_probes(store::Session& session, QueueScanner& scanner, LeasedBatch& into);
  /// A batch of the fan-out, in one transaction or, where the database refuses some of it, in several.
  using Pick = ReadyEntities::Pick;
  struct Batch;
  struct Turn;
  Batch read_batch(store::Session& session, const std::vector<store::NewNotification>& line, Pick pick,
                   std::vector<store::TakeRequest> requests);
  void fan_out(store::Session& session, QueueScanner& scanner, Batch batch, FairSlots& slots, Ahead ahead,
               LeasedBatch& into);
  void fan_out_batch(store::Session& session, QueueScanner& scanner, Batch& batch, FairSlots& slots,
                     Ahead ahead, LeasedBatch& into);
  void retry_locked(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into);
  void take_part(store::Session& session, QueueScanner& scanner, const std::vector<JudgedNotification>& part,
                 Batch& batch, Turn& turn, LeasedBatch& into);
  void halve(store::Session& session, QueueScanner& scanner, const std::vector<JudgedNotification>& part,
             Batch& batch, Turn& turn, LeasedBatch& into);
  void fan_out_part(store::Session& session, QueueScanner& scanner,
                    const std::vector<JudgedNotification>& part, Batch& batch, Turn& turn, LeasedBatch& into);
  /// A notification that the database refuses alone. What comes behind it is passed on to delivery.
  void blamed(store::Session& session, ReadyEntities& entities, const JudgedNotification& notification,
              const store::Refused& error);
  void take_part_past_locks(store::Session& session, QueueScanner& scanner,
                            const std::vector<JudgedNotification>& part, Turn& turn, LeasedBatch& into);
  void fan_out_past_locks(store::Session& session, QueueScanner& scanner,
                          const std::vector<JudgedNotification>& part, FairSlots& slots, LeasedBatch& into);
  void finish_fanned_out(store::Session& session);
  void report(const store::FanOut& fan_out) const;
  void report_left(std::string_view what, std::size_t count);
  void take(store::Leased leased, LeasedBatch& into) const;

  platform::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  std::mt19937_64 random_;
  Pacer busy_pacer_{10};
  Pacer suspect_pacer_{10};
  Pacer large_pacer_{25};  // while there are others
  Quarantine quarantine_;
  LockedNotifications locked_;
  bool turns_first_ = false;  // of the line and those that take turns, who gets the larger half
  std::deque<delivery::WebhookId> unidentified_;  // due, and not known yet whose they are
  platform::MonotonicTime next_left_report_{};
};

}  // namespace dispatcher
