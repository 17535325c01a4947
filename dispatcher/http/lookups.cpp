#include "dispatcher/http/lookups.hpp"

#include <utility>

namespace dispatcher {

namespace {

/// How long a lookup may take. If servers answer only one of a name's two questions (IPv4 and IPv6), the
/// lookup waits for the other answer for most of this time. The last quarter of connect_timeout is left for
/// dialling.
platform::Milliseconds patience(const config::DeliverySettings& settings) {
  return settings.connect_timeout * 3 / 4;
}

}  // namespace

Lookups::Lookups(const config::DeliverySettings& settings, Poller& poller)
    : routes_(settings.host_overrides), resolver_(patience(settings), poller), poller_(poller) {}

std::optional<Job> Lookups::find(Job job) {
  using enum Request::Purpose;
  const auto purpose = job.request.purpose;
  const auto& route = routes_.of(job.request.url);
  job.cache_key = cache_key(route);
  if (route.name.empty()) {
    job.addresses = route.addresses;
    return job;
  }
  if (purpose == handshake) {
    if (job.request.address) job.addresses = {*job.request.address};
    return job;
  }
  if (const auto* cached = purpose == lookup ? nullptr : resolver_.cached(route.name, job.since)) {
    job.addresses = *cached;
    return job;
  }
  resolver_.look_up(route.name);
  waiting_[route.name].push_back(std::move(job));
  return std::nullopt;
}

std::vector<Lookups::Found> Lookups::take_found() {
  std::vector<Found> result;
  for (const auto& [name, addresses, servers, fault] : resolver_.take_ended()) {
    auto waited = waiting_.extract(name);
    if (!waited) continue;
    for (auto& job : waited.mapped()) {
      job.addresses = addresses;
      // An answer may have been missed.
      const bool lost = addresses.empty() && poller_.stopped_since(job.since);
      if (lost || servers == Resolution::Servers::not_asked)
        job.fault = lost ? delivery::LocalFault::stopped : fault;
      result.push_back({std::move(job), lost ? Resolution::Servers::not_asked : servers});
    }
  }
  return result;
}

std::set<std::string_view> Lookups::hosts() const {
  std::set<std::string_view> hosts;
  for (const auto& [name, jobs] : waiting_) {
    for (const auto& job : jobs) hosts.insert(job.request.host);
  }
  return hosts;
}

bool Lookups::process(const Poller::Event& event) { return resolver_.process(event); }

std::optional<platform::MonotonicTime> Lookups::next_timeout() const { return resolver_.next_timeout(); }

}  // namespace dispatcher
