// Recording what became of attempts, in batches, guarded by the lease.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/session/session.hpp"
#include "store/types.hpp"

namespace store {

enum class ResultState {
  delivered,  // entregada
  retry,      // pendiente again, after `wait`
  failed,     // fallida: the schedule is exhausted
  held,       // retenida: no attempt was made (its secret cannot be read)
};

struct DeliveryResult {
  DeliveryId id = 0;
  WebhookId webhook = 0;
  EntityId entity = 0;  // whose webhook it is
  std::uint64_t lease = 0;
  ResultState state = ResultState::delivered;
  unsigned failures = 0;          // for the schedule, this one included
  platform::Milliseconds wait{};  // of retry
  bool test = false;              // test events do not count for deactivation

  // The attempt.
  unsigned attempts = 0;  // known outcomes before this one
  UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;  // the IP dialled
  std::optional<int> status;           // HTTP; none when there was no response
  std::string error;                   // empty: success. At most 500 characters

  // What it says of the webhook.
  bool probe = false;             // failed in transport or with 429/503
  bool gone = false;              // 410: the webhook is deactivated
  platform::Milliseconds rest{};  // the whole webhook pauses for this long (429, unreadable secret)
};

struct RecordSummary {
  std::size_t stale = 0;               // no longer under their lease: nothing was changed
  std::vector<WebhookId> deactivated;  // by 410 or by disable_after
};

/// One transaction. `disable_after` 0: never. DeliveryResults of one webhook are given in the order in which
/// they ended.
RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             platform::Milliseconds disable_after);

/// Of the webhooks of `delivery_results` (at most 512), those of which no row that record_results() writes is locked
/// by somebody at this moment. Waits for nobody.
std::set<WebhookId> find_unlocked(Session& session, const std::vector<DeliveryResult>& delivery_results);

}  // namespace store
