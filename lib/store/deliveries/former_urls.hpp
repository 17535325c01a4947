// Attempts that failed at a URL that their webhook no longer has: they say nothing of the one it has now.
#pragma once

#include <deque>

#include "lib/store/deliveries/result_locks.hpp"
#include "lib/store/session/session.hpp"

namespace store {

struct JudgedUrls {
  std::deque<delivery::DeliveryResult> former;  // what becomes of those; `batch` has them instead
  ResultBatch batch;                            // in the same order
};
/// Within the transaction that records the batch. Waits for no lock: throws LockTimeout. A batch without
/// failures costs no statement.
JudgedUrls judge_urls(Session& session, const ResultBatch& batch);

}  // namespace store
