// Tables `reenvios` and `reenvios_entregas`: replays as entities and the operator ask for them and see them.
// The dispatcher carries them out (replay_feed.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/store/audit/audit.hpp"
#include "lib/store/replays/request_quota.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/webhook/event.hpp"

namespace store {

using ReplayId = std::int64_t;

/// Which deliveries of a webhook: never test events.
struct ReplayRange {
  UtcTime since;                              // of their creation, inclusive
  std::optional<UtcTime> until{};             // exclusive; unset: now, this millisecond included
  std::optional<webhook::EventSet> events{};  // unset: all
  bool failed = true;
  bool delivered = false;
};

/// Deliveries that a range fits now, of the 2,000 at most that are looked at.
struct ReplayCount {
  std::uint64_t count = 0;
  bool exact = true;  // false: at least so many
};
ReplayCount count_candidates(Session& session, WebhookId webhook, const ReplayRange& range);
/// The same for an entity that asks; with `requests_per_hour` (0: no limit) throws TooManyReplayRequests.
ReplayCount simulate_replay(Session& session, EntityId entity, WebhookId webhook, const ReplayRange& range,
                            unsigned requests_per_hour);

/// limits.replayed: the entity has asked for too many in 24 h; `left` more would be accepted now.
struct TooManyReplays : std::runtime_error {
  TooManyReplays(std::uint64_t left_, unsigned retry_after_s_)
      : std::runtime_error("too many replays"), left(left_), retry_after_s(retry_after_s_) {}
  std::uint64_t left;
  unsigned retry_after_s;
};

struct Replay {
  ReplayId id;
  std::string state;  // pendiente, en_curso, terminado, cancelado
};

enum class ReplayAsked {
  done,
  not_found,  // no such delivery of this webhook
  inactive,   // the webhook
  held,       // the delivery, of a webhook that is active: its secret cannot be read, or it is about to go on
  cancelled,  // the delivery, or its notification
  in_flight,  // the delivery
  running,    // another replay of the webhook, which `replay` is
};
struct AskedReplay {
  ReplayAsked result;
  Replay replay{};
};

/// Of one delivery: the same while it is pending. With `max_per_day` (0: no limit) throws TooManyReplays.
AskedReplay ask_replay(Session& session, const Author& author, WebhookId webhook, DeliveryId delivery,
                       unsigned max_per_day);
/// A replay of all that fit now, one at a time of each webhook; where they are not counted to the end, as
/// many as `max_per_day` leaves, which the dispatcher counts as it walks. Throws as the two above; what is
/// refused for another reason is so before it is counted in the hour, and before any delivery is looked at.
AskedReplay ask_replay(Session& session, const Author& author, WebhookId webhook, const ReplayRange& range,
                       unsigned max_per_day, unsigned requests_per_hour = 0);

struct ReplayProgress {
  Replay replay;
  EntityId entity;
  WebhookId webhook;
  std::optional<DeliveryId> delivery;  // that one alone
  UtcTime asked;
  std::uint64_t candidates;  // when it was asked for, as far as counted; more once more have been replayed
  std::uint64_t replayed;    // handed to the schedule
  std::uint64_t delivered;   // of them: answered with a 2xx since
  std::uint64_t failed;      // of them: has exhausted its schedule
};
/// nullopt: none of this webhook.
std::optional<ReplayProgress> find_replay(Session& session, WebhookId webhook, ReplayId id);
/// Stops it: nothing more is replayed; what has been, goes on. False: none of this webhook's, or over.
bool cancel_replay(Session& session, const std::optional<Author>& author, WebhookId webhook, ReplayId id);

/// For the operator: of `filter` entity, webhook, state, since and limit. Without `delivered` and `failed`.
std::vector<ReplayProgress> list_replays(Session& session, const ListFilter& filter);
/// Of any webhook; nullopt: there is none.
std::optional<WebhookId> webhook_of_replay(Session& session, ReplayId id);

}  // namespace store
