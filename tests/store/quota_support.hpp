// What the tests of quotas share.
#pragma once

#include "lib/store/quotas/quotas.hpp"

namespace store::testing {

/// Returns a predicate for BOOST_CHECK_EXCEPTION: the exceeded quota is `quota`.
inline auto is_of(Quota quota) {
  return [quota](const OverQuota& refused) { return refused.quota == quota; };
}

}  // namespace store::testing
