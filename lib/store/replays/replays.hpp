// Tables `reenvios` and `reenvios_entregas`: entities ask for replays; they and the operator see and cancel
// replays. The dispatcher carries them out (replay_feed.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/audit/audit.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The deliveries of a webhook to replay; never test events.
struct ReplayRange {
  UtcTime since;                   // bounds the creation time, inclusive
  std::optional<UtcTime> until{};  // exclusive; unset: the range ends with the current millisecond
  /// Names of events, separated by commas; unset: all events. Some may be known only to a newer release.
  std::optional<std::string> events{};
  bool failed = true;
  bool delivered = false;
};

/// The number of deliveries that match a range now, among at most 2,000 that are read.
struct ReplayCount {
  std::uint64_t count = 0;
  bool exact = true;  // false: there are at least `count`
};
ReplayCount count_candidates(Session& session, WebhookId webhook, const ReplayRange& range);
/// As count_candidates, but uses one of the entity's `requests_per_hour` (0: no limit). Throws OverQuota.
ReplayCount simulate_replay(Session& session, EntityId entity, WebhookId webhook, const ReplayRange& range,
                            unsigned requests_per_hour);

struct Replay {
  ReplayId id;
  std::string state;  // pendiente, en_curso, terminado, cancelado
};

enum class ReplayAsked {
  done,
  not_found,  // no such webhook or delivery
  inactive,   // the webhook is inactive
  held,  // the delivery is held although its webhook is active: the secret is unreadable, or the delivery is
         // about to be released
  cancelled,  // the delivery or its notification is cancelled
  expired,    // the notification has expired
  in_flight,  // the delivery is in flight
  running,    // the webhook has an unfinished replay of a range, which `replay` names
};
struct AskedReplay {
  ReplayAsked result;
  Replay replay{};
  std::optional<QuotaLeft> quota{};  // what is left of Quota::replayed after a new replay of one delivery
};

/// Asks for the replay of one delivery; returns its unfinished replay if there is one. Throws OverQuota over
/// `max_per_day` (0: no limit).
AskedReplay ask_replay(Session& session, const Author& author, WebhookId webhook, DeliveryId delivery,
                       unsigned max_per_day);
/// Asks for the replay of all deliveries that match now; a webhook has at most one unfinished replay of a
/// range. If the count is not exact, the replay covers at most what `max_per_day` leaves, and the dispatcher
/// counts the matches. Throws OverQuota. A request that is refused for too many matches uses one of
/// `requests_per_hour`. Any other refused request uses none, and reads no deliveries.
AskedReplay ask_replay(Session& session, const Author& author, WebhookId webhook, const ReplayRange& range,
                       unsigned max_per_day, unsigned requests_per_hour = 0);

struct ReplayProgress {
  Replay replay;
  EntityId entity;
  WebhookId webhook;
  std::optional<DeliveryId> delivery;  // set: a replay of this delivery alone
  std::optional<std::string> event;    // of this delivery, if it is known
  UtcTime asked;
  std::optional<UtcTime> ended;  // set once it is terminado or cancelado
  std::uint64_t candidates;      // matches counted at the request; grows if the dispatcher finds more
  /// Deliveries that the replay has made due. If a replay of one delivery finds that the delivery has had a
  /// 2xx since the request, the replay does not make the delivery due, but counts it here.
  std::uint64_t replayed;
  std::uint64_t delivered;  // of `replayed`: answered with a 2xx
  std::uint64_t failed;     // of `replayed`: failed for good
  std::uint64_t retrying;   // of `replayed`: have failed again, and wait for a retry
  std::string error{};      // that `delivery` has now; empty if it counts as delivered
};
/// Returns nullopt when the webhook has no such replay.
std::optional<ReplayProgress> find_replay(Session& session, WebhookId webhook, ReplayId id);
/// Stops a replay: no further delivery is replayed, and those already due continue. Returns false when the
/// webhook has no such unfinished replay. The audit notes the `author`, if there is one.
bool cancel_replay(Session& session, const std::optional<Author>& author, WebhookId webhook, ReplayId id);

/// Lists, for the operator, the newest replays that match `entity`, `webhook`, `state` and `since` of
/// `filter`, at most `filter.limit`. Leaves what became of the deliveries out.
std::vector<ReplayProgress> list_replays(Session& session, const ListFilter& filter);

struct ListedReplays {
  std::vector<ReplayProgress> replays;  // newest first
  std::optional<ReplayId> next;         // the next page is older than this; unset: this page is the last
};
/// Reads the entity's newest replays, older than `before` (unset: all), also of webhooks that are deleted.
/// Besides the page it reads what is not yet counted of its replays: some 100 deliveries a webhook at most.
ListedReplays read_replay_page(Session& session, EntityId entity, unsigned limit,
                               std::optional<ReplayId> before);
/// The webhook of a replay; nullopt when there is no such replay.
std::optional<WebhookId> webhook_of_replay(Session& session, ReplayId id);

}  // namespace store
