// Finds the addresses of the host of a job (a request with an attempt that has begun): in the URL, in
// delivery.host_overrides, in the resolver's cache, or by a lookup. During the lookup the job waits here.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dispatcher/http/job.hpp"
#include "dispatcher/http/poller.hpp"
#include "dispatcher/http/resolver.hpp"
#include "dispatcher/http/route.hpp"
#include "lib/config/config.hpp"

namespace dispatcher {

/// Not thread-safe.
class Lookups {
 public:
  /// `settings` and `poller` outlive this object. Throws std::runtime_error.
  Lookups(const config::DeliverySettings& settings, Poller& poller);

  /// Returns the job with its addresses if no lookup is needed; otherwise take_found() returns the job later.
  /// If the URL's host is a name without an override, the Purpose of the request matters: a `handshake` gets
  /// Request::address and needs no lookup; a `lookup` bypasses the cache.
  std::optional<Job> find(Job job);

  struct Found {
    Job job;  // without addresses: the name has none, or no usable answer came in time
    Resolution::Servers servers;
  };
  /// Advances the lookups, and returns the jobs of those that have ended.
  std::vector<Found> take_found();

  /// Hosts of the jobs that wait; valid until the next call that is not const.
  std::set<std::string_view> hosts() const;

  /// Handles the event if the socket belongs to a lookup; otherwise returns false.
  bool process(const Poller::Event& event);
  /// When to call take_found() next; nullopt: no lookup is in progress.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  Routes routes_;
  Resolver resolver_;
  std::unordered_map<std::string, std::vector<Job>> waiting_;  // by name
  const Poller& poller_;
};

}  // namespace dispatcher
