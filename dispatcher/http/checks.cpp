#include "dispatcher/http/checks.hpp"

#include <utility>

namespace dispatcher {

namespace {

using Outcome = Check::Outcome;
using Servers = Resolution::Servers;

Outcome outcome_of(const Attempt& handshake) {
  if (handshake.silence != delivery::Silence::none) return Outcome::silent;
  if (handshake.heard) return Outcome::heard;
  return handshake.transport == TransportResult::local_failure ? Outcome::not_asked : Outcome::nothing;
}

Outcome outcome_of(Servers servers) {
  switch (servers) {
    case Servers::answered:
      return Outcome::heard;
    case Servers::silent:
      return Outcome::silent;
    case Servers::not_asked:
      return Outcome::not_asked;
    case Servers::nothing:
      break;
  }
  return Outcome::nothing;
}

}  // namespace

Check handshake_check(const Attempt& attempt) {
  const auto ended = attempt.heard.value_or(attempt.ended);
  return {Request::Purpose::handshake, attempt.delivery.entity,          attempt.host,
          outcome_of(attempt),         attempt.ended - attempt.duration, ended};
}

Check lookup_check(const Job& job, Servers servers, platform::MonotonicTime ended) {
  const auto entity = job.request.delivery.entity;
  return {Request::Purpose::lookup, entity, job.request.host, outcome_of(servers), job.since, ended};
}

Attempt lookup_attempt(Job job, Servers servers) {
  if (servers == Servers::not_asked) return attempt_of(std::move(job), TransportResult::local_failure);
  if (job.addresses.empty()) return unresolved(std::move(job), servers == Servers::silent);
  job.request.test_request->addresses = std::move(job.addresses);
  return attempt_of(std::move(job), TransportResult::answered);
}

}  // namespace dispatcher
