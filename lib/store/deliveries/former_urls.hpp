// Handles failed attempts to a URL that the webhook has since replaced: they say nothing about the present
// URL.
#pragma once

#include <deque>

#include "lib/store/deliveries/result_locks.hpp"
#include "lib/store/session/session.hpp"

namespace store {

struct JudgedUrls {
  std::deque<delivery::DeliveryResult> former;  // the converted results, which `batch` points to
  ResultBatch batch;  // all results, converted or not, in the order of the batch that was judged
};
/// Converts the results of failed attempts to a former URL with delivery::of_former_url: the deliveries are
/// due at once, their schedule starts again, and the failures do not count. Runs within the transaction that
/// records the batch. On MariaDB it waits for no lock, and throws LockTimeout instead. Sends no statement for
/// a batch without failures.
JudgedUrls judge_urls(Session& session, const ResultBatch& batch);

}  // namespace store
