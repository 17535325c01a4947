// What a check showed: made of the values with which a handshake or a lookup ends.
#pragma once

#include "dispatcher/http/job.hpp"

namespace dispatcher {

/// What a handshake showed, by its attempt.
Check handshake_check(const Attempt& attempt);

/// What a lookup that ended at `ended` showed.
Check lookup_check(const Job& job, Resolution::Servers servers, platform::MonotonicTime ended);

/// Ends the lookup of a test request, which gets the addresses.
Attempt lookup_attempt(Job job, Resolution::Servers servers);

}  // namespace dispatcher
