// A request with an attempt that has begun, and the functions that begin and end the attempt.
#pragma once

#include <optional>
#include <string>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/http/resolver.hpp"

namespace dispatcher {

struct Job {
  Request request;
  platform::UtcTime started{};
  platform::MonotonicTime since{};  // when the attempt began, before any lookup of the host
  std::string cache_key;            // `host:port`, the key in libcurl's DNS cache
  Addresses addresses;  // to connect to; empty: the URL has an address, or no lookup has found one
  std::optional<platform::MonotonicTime> name_answered{};  // when a lookup got an answer
  delivery::LocalFault fault{};                            // why the attempt cannot go on
};

/// Begins the attempt of a request now.
Job begun(Request request);

/// Ends the attempt of a job now, with this result.
Attempt attempt_of(Job job, TransportResult result);
/// As attempt_of(), because of a fault of this host.
Attempt local_failure_of(Job job, delivery::LocalFault fault);

/// Ends the attempt of a job that got no address. `unanswered`: no name server gave a usable answer.
Attempt unresolved(Job job, bool unanswered);

/// Ends the attempt of a lookup. The request's observation receives the addresses.
Attempt lookup_attempt(Job job, Resolution::Servers servers);

/// How many secrets sign the request.
unsigned signatures_of(const Request& request);

/// Returns the attempt of a request that delivery.sandbox keeps from being sent; but for that it would have
/// begun now.
Attempt sandboxed(Request request);

/// Returns the attempt of a request that is not sent, with TransportResult::not_started.
Attempt not_started(Request request);

}  // namespace dispatcher
