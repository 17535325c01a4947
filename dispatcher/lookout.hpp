// Finds out who waits, within a small share of the loop's time.
//
// It promises: whatever is pending is found, whoever wrote it and when, also what was committed late,
// replayed, released or recovered; with nothing pending, a look is one cheap statement.
#pragma once

#include <optional>
#include <vector>

#include "agenda.hpp"
#include "pacer.hpp"
#include "store/session.hpp"
#include "store/waiting.hpp"

namespace dispatcher {

class Lookout {
 public:
  /// `turn`: whose turn begins after it, so that each dispatcher begins elsewhere.
  Lookout(platform::Milliseconds poll_interval, std::int64_t turn)
      : poll_interval_(poll_interval), entities_(turn), webhooks_(turn) {}

  /// Looks if it is time to; `idle`: the caller has nothing else to do. Throws what the store throws.
  void look(store::Session& session, platform::MonotonicTime now, bool idle);

  /// Between looks, once nothing has come for 5 s; before that it is `poll_interval`.
  static platform::Milliseconds longest_interval(platform::Milliseconds poll_interval) {
    return 2 * poll_interval;
  }

  /// When it will be time again.
  platform::MonotonicTime next_look() const { return pacer_.next(); }

  bool paused() const { return paused_; }
  EntityAgenda& entities() { return entities_; }
  WebhookAgenda& webhooks() { return webhooks_; }

 private:
  platform::Milliseconds interval(bool new_ones, platform::MonotonicTime now) const;
  void check_pause(store::Session& session, platform::MonotonicTime now);
  bool find_new(store::Session& session, store::NotificationId newest);
  bool search(store::Session& session, const store::QueueGlance& glance);

  static constexpr unsigned share = 5;  // percent, of each

  platform::Milliseconds poll_interval_;
  Pacer pacer_{share};
  Pacer search_pacer_{share};
  std::optional<store::NotificationId> newest_;  // looked at; none before the first look
  bool paused_ = true;                           // until it has looked
  EntityAgenda entities_;
  WebhookAgenda webhooks_;
  std::vector<store::Gap> entity_gaps_;   // left of the present round
  std::vector<store::Gap> webhook_gaps_;  // likewise
  platform::MonotonicTime next_look_again_{};
  platform::MonotonicTime next_pause_check_{};
  platform::MonotonicTime rests_from_{};
};

}  // namespace dispatcher
