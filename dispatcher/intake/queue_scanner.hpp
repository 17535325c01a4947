// Finds out who waits, within a small share of the loop's time.
//
// It promises: whatever is pending is found, whoever wrote it and when, also what was committed late,
// replayed, released or recovered; with nothing pending, a look is one cheap statement.
#pragma once

#include <optional>
#include <vector>

#include "dispatcher/intake/pacer.hpp"
#include "dispatcher/schedule/early_webhooks.hpp"
#include "dispatcher/schedule/paused_parts.hpp"
#include "dispatcher/schedule/ready_entities.hpp"
#include "dispatcher/schedule/ready_webhooks.hpp"
#include "lib/platform/config.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class QueueScanner {
 public:
  /// `turn`: whose turn begins after it, so that each dispatcher begins elsewhere.
  QueueScanner(const platform::DeliverySettings& settings, std::int64_t turn);

  /// Looks if it is time to; `idle`: the caller has nothing else to do. Throws what the store throws.
  void look(store::Session& session, platform::MonotonicTime now, bool idle);

  /// Between looks, once nothing has come for 5 s; before that it is `poll_interval`.
  static platform::Milliseconds longest_interval(platform::Milliseconds poll_interval) {
    return 2 * poll_interval;
  }

  /// When it will be time again.
  platform::MonotonicTime next_look() const { return pacer_.next(); }

  bool paused() const { return paused_; }
  /// Something may be sent though nothing is pending: a pause is looked for as if it were.
  void attend_pauses(bool may_send) { may_send_ = may_send; }
  /// Entities have asked for diagnoses of which none has begun.
  bool asked_diagnoses() const { return asked_diagnoses_; }
  PausedParts& paused_parts() { return paused_parts_; }
  ReadyEntities& entities() { return entities_; }
  ReadyWebhooks& webhooks() { return webhooks_; }
  EarlyWebhooks& early() { return early_; }

 private:
  platform::Milliseconds interval(bool new_ones, platform::MonotonicTime now) const;
  void check_pause(store::Session& session, platform::MonotonicTime now);
  bool find_new(store::Session& session, const store::QueuePeek& peek);
  bool read_new(store::Session& session, delivery::NotificationId newest);
  void skip_to(delivery::NotificationId newest);
  void search(store::Session& session, const store::QueuePeek& peek, bool idle);
  bool search_entities(store::Session& session);
  bool search_webhooks(store::Session& session);
  void find_early(store::Session& session);

  static constexpr unsigned share = 5;  // percent, of each

  platform::Milliseconds poll_interval_;
  Pacer pacer_{share};
  Pacer entity_pacer_{share};
  Pacer webhook_pacer_{share};
  std::optional<delivery::NotificationId> newest_;  // looked at; none before the first look
  bool more_new_ = false;                           // beyond those
  /// Of some of the ids up to `newest_` nobody has looked whose they are: what is older of an entity that
  /// appears may not be known. Until a search of all that began later is through.
  bool missed_some_ = true;
  bool search_covers_missed_ = false;
  bool paused_ = true;  // until it has looked
  bool asked_diagnoses_ = false;
  bool may_send_ = false;
  PausedParts paused_parts_;
  ReadyEntities entities_;
  ReadyWebhooks webhooks_;
  EarlyWebhooks early_;
  store::EarlyWebhook early_seen_{};  // up to here they have been read
  platform::MonotonicTime next_early_look_{};
  platform::MonotonicTime next_early_round_{};
  std::vector<store::IdRange> entity_ranges_;   // left of the present round
  std::vector<store::IdRange> webhook_ranges_;  // likewise
  platform::MonotonicTime next_look_again_{};
  platform::MonotonicTime next_pause_check_{};
  platform::MonotonicTime rests_from_{};
};

}  // namespace dispatcher
