// The quotas: how much an entity may do, or have stored, in a time. The keys limits.* of the configuration
// set them. Most are counted in buckets (tables `altas_webhook` and `turnos_prueba`). An empty bucket fills
// again in an hour or a day; the row keeps only the time at which the bucket will be full. The other quotas
// are counted from the rows of other tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

enum class Quota {
  registrations,     // limits.registrations, an hour: registrations; a deletion gives nothing back
  changes,           // the bucket of `registrations`: changes of a webhook, of its secret, or of the contacts
  replay_requests,   // limits.replay_requests, an hour: replays of ranges, and simulations
  diagnostics,       // limits.diagnostics, an hour
  contact_codes,     // limits.contact_codes, 24 h: mails with a code that confirms an address
  codes_to_address,  // most_codes_to_address and most_codes_to_address_of_entity, 24 h
  test_bytes,        // limits.test_bytes, a day
  replayed,          // limits.replayed, 24 h: the deliveries that ended replays have replayed, and the most
                     // that running replays may replay
  pending_tests,     // limits.pending_test_deliveries: test deliveries that have not ended
};

/// The entity has used its quota. A transaction that throws this is committed. It may have inserted the
/// entity's row of quotas: if that insertion were rolled back, the sessions that wait for the row would
/// deadlock.
struct OverQuota : CommittedRefusal {
  OverQuota(Quota quota_, unsigned retry_after_s_, std::uint64_t left_ = 0)
      : CommittedRefusal("over a quota"), quota(quota_), retry_after_s(retry_after_s_), left(left_) {}
  Quota quota;
  unsigned retry_after_s;  // at least 1
  std::uint64_t left;      // QuotaLeft::left; 0 for a bucket
};

// Call the functions that change something within a transaction that locks the entity's quotas before
// anything else, so that other transactions that lock the same quotas wait until this one ends. Without that
// lock, replays_left, peek_pending_tests_left and level_of tell what another request may change at once.

/// Locks all quotas but `test_bytes` and `pending_tests`.
void lock_quotas(Session& session, EntityId entity);
/// Locks only `test_bytes` and `pending_tests`, so that test events and registrations do not wait for each
/// other.
void lock_test_quotas(Session& session, EntityId entity);

/// Takes `amount` out of the entity's bucket, which holds `limit` (0: nothing is counted). Throws OverQuota.
/// An amount above `limit` passes when the bucket is full.
void use_quota(Session& session, Quota quota, EntityId entity, std::uint64_t limit, std::uint64_t amount = 1);

/// What the entity may still have of a quota without a bucket.
struct QuotaLeft {
  Quota quota;
  std::uint64_t limit;  // 0: no limit
  std::uint64_t left;
  unsigned retry_after_s;   // of OverQuota, when more than `left` is asked for
  unsigned retry_beyond_s;  // of OverQuota, when more than `limit` is asked for

  /// Throws OverQuota if there is a limit and `left` is 0 or less than `amount`.
  void require(std::uint64_t amount) const;
};
QuotaLeft replays_left(Session& session, EntityId entity, unsigned limit);
/// Counts test deliveries that are pendiente, en_curso or retenida. peek_… changes nothing;
/// pending_tests_left also forgets the deliveries that have ended.
QuotaLeft peek_pending_tests_left(Session& session, EntityId entity, std::uint64_t limit);
QuotaLeft pending_tests_left(Session& session, EntityId entity, std::uint64_t limit);
/// Limit 0: nothing is left to say, and nothing is refused.
QuotaLeft codes_left(Session& session, EntityId entity, std::uint64_t limit);
/// The mails with a code that one address gets in 24 h from all entities, and from one. The second is less,
/// so that no entity alone can keep another from confirming its address.
inline constexpr std::int64_t most_codes_to_address = 6;
inline constexpr std::int64_t most_codes_to_address_of_entity = 3;
/// Counts a code to each of these addresses, which differ not in case alone. Throws OverQuota, and has then
/// counted none. Requires a transaction_past_duplicates: another entity may take the same place of an
/// address.
void use_codes(Session& session, EntityId entity, std::uint64_t limit,
               const std::vector<std::string>& addresses);
/// Counts each delivery of the notification as a pending test until the delivery ends.
void count_pending_tests(Session& session, EntityId entity, NotificationId notification);

/// What is left in an entity's bucket.
struct BucketLevel {
  std::uint64_t left;
  unsigned more_s;  // until there is more; 0: the bucket is full
};
/// `quota` has a bucket or is contact_codes, and `limit` is not 0.
BucketLevel level_of(Session& session, Quota quota, EntityId entity, std::uint64_t limit);
/// The time in which `limit` of the quota may be used.
unsigned window_s(Quota quota);

}  // namespace store
