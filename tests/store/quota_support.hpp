// What the tests of quotas share.
#pragma once

#include "lib/store/quotas/quotas.hpp"

namespace store::testing {

/// For BOOST_CHECK_EXCEPTION.
inline auto is_of(Quota quota) {
  return [quota](const OverQuota& refused) { return refused.quota == quota; };
}

}  // namespace store::testing
