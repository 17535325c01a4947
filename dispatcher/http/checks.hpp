// Turns the outage watch's handshakes and lookups into an OutageCheck, and an observed lookup into an
// Attempt.
#pragma once

#include "dispatcher/http/job.hpp"

namespace dispatcher {

/// The result of a check by handshake, from the handshake's attempt.
OutageCheck handshake_check(const Attempt& attempt);

/// The result of a check by lookup, which ended at `ended`.
OutageCheck lookup_check(const Job& job, Resolution::Servers servers, platform::MonotonicTime ended);

/// Returns the attempt that reports an observed lookup. `job.request.observed` must be set; it receives the
/// addresses that the lookup found.
Attempt lookup_attempt(Job job, Resolution::Servers servers);

}  // namespace dispatcher
