#include "dispatcher/http/job.hpp"

#include <chrono>
#include <utility>

namespace dispatcher {

Job begun(Request request) {
  Job job;
  job.request = std::move(request);
  job.started = platform::utc_now();
  job.since = platform::monotonic_now();
  return job;
}

Attempt attempt_of(Job job, TransportResult result) {
  Attempt attempt;
  attempt.delivery = std::move(job.request.delivery);
  attempt.transport = result;
  attempt.fault = job.fault;
  attempt.started = job.started;
  attempt.ended = platform::monotonic_now();
  attempt.duration = std::chrono::duration_cast<platform::Milliseconds>(attempt.ended - job.since);
  attempt.url = std::move(job.request.url);
  attempt.host = std::move(job.request.host);
  attempt.lease_until = job.request.lease_until;
  attempt.name_answered = job.name_answered;
  attempt.observed = std::move(job.request.observed);
  return attempt;
}

Attempt local_failure_of(Job job, delivery::LocalFault fault) {
  job.fault = fault;
  return attempt_of(std::move(job), TransportResult::local_failure);
}

Attempt unresolved(Job job, bool unanswered) {
  auto attempt = attempt_of(std::move(job), TransportResult::name_unresolved);
  if (unanswered) attempt.silence = delivery::Silence::names;
  return attempt;
}

Attempt lookup_attempt(Job job, Resolution::Servers servers) {
  using enum Resolution::Servers;
  if (servers == not_asked) return attempt_of(std::move(job), TransportResult::local_failure);
  if (job.addresses.empty()) return unresolved(std::move(job), servers == silent);
  job.request.observed->addresses = std::move(job.addresses);
  return attempt_of(std::move(job), TransportResult::answered);
}

unsigned signatures_of(const Request& request) {
  return (request.secret ? 1U : 0U) + (request.previous_secret ? 1U : 0U);
}

Attempt sandboxed(Request request) {
  const auto signatures = signatures_of(request);
  auto attempt = attempt_of(begun(std::move(request)), TransportResult::sandboxed);
  attempt.signatures = signatures;
  return attempt;
}

Attempt not_started(Request request) {
  Attempt attempt;
  attempt.delivery = std::move(request.delivery);
  attempt.host = std::move(request.host);
  attempt.observed = std::move(request.observed);
  return attempt;
}

}  // namespace dispatcher
