#include "dispatcher/http/checks.hpp"

#include <utility>

namespace dispatcher {

namespace {

using Finding = OutageCheck::Finding;
using Servers = Resolution::Servers;

Finding finding_of(const Attempt& handshake) {
  if (handshake.silence != delivery::Silence::none) return Finding::silent;
  if (handshake.heard) return Finding::heard;
  return handshake.transport == TransportResult::local_failure ? Finding::not_asked : Finding::nothing;
}

Finding finding_of(Servers servers) {
  switch (servers) {
    case Servers::answered:
      return Finding::heard;
    case Servers::silent:
      return Finding::silent;
    case Servers::not_asked:
      return Finding::not_asked;
    case Servers::nothing:
      break;
  }
  return Finding::nothing;
}

}  // namespace

OutageCheck handshake_check(const Attempt& attempt) {
  const auto ended = attempt.heard.value_or(attempt.ended);
  return {Request::Purpose::handshake, attempt.delivery.entity,          attempt.host,
          finding_of(attempt),         attempt.ended - attempt.duration, ended};
}

OutageCheck lookup_check(const Job& job, Servers servers, platform::MonotonicTime ended) {
  const auto entity = job.request.delivery.entity;
  return {Request::Purpose::lookup, entity, job.request.host, finding_of(servers), job.since, ended};
}

Attempt lookup_attempt(Job job, Servers servers) {
  if (servers == Servers::not_asked) return attempt_of(std::move(job), TransportResult::local_failure);
  if (job.addresses.empty()) return unresolved(std::move(job), servers == Servers::silent);
  job.request.observed->addresses = std::move(job.addresses);
  return attempt_of(std::move(job), TransportResult::answered);
}

}  // namespace dispatcher
