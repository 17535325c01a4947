#include "dispatcher/http/sender.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <thread>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/job.hpp"
#include "dispatcher/http/lookups.hpp"
#include "dispatcher/http/own_addresses.hpp"
#include "dispatcher/http/poller.hpp"
#include "dispatcher/http/route.hpp"
#include "dispatcher/http/transfers.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

/// A request is not sent if its webhook was read longer ago than this: the webhook may have been disabled,
/// deleted or changed since. The request is handed back, and its delivery claimed again.
constexpr platform::Milliseconds longest_age{1000};
bool outdated(const Request& request, platform::MonotonicTime now) {
  return now >= request.read_at + longest_age;
}

}  // namespace

class Sender::Impl {
 public:
  Impl(const config::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
       const std::vector<std::string>& database_hosts)
      : settings_(settings),
        own_addresses_(database_hosts),
        attempts_(attempts),
        lookups_(settings_, poller_),
        transfers_(settings_, poller_) {
    learn_own_addresses();
    thread_ = std::jthread([this](const std::stop_token& abandon) { run(abandon); });
  }

  ~Impl() {
    thread_.request_stop();
    submitted_.wake();
    if (thread_.joinable()) thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void submit(std::vector<Request> requests) { submitted_.put(std::move(requests)); }

  void return_waiting() {
    returning_ = true;
    submitted_.wake();
  }

  void stop_starting() {
    stopping_ = true;
    submitted_.wake();
  }

  const platform::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  void run(const std::stop_token& abandon) {
    poller_.watch(submitted_.fd(), true, false);
    while (!abandon.stop_requested()) {
      heartbeat_.beat();
      learn_own_addresses();
      start_submitted();
      open_more();
      start_found();
      finish_ended();
      attempts_.put(std::exchange(ended_, {}));
      for (const auto& event : poller_.wait(longest_wait())) {
        if (event.fd != submitted_.fd() && !lookups_.process(event)) transfers_.process(event);
      }
    }
  }

  void learn_own_addresses() {
    if (auto found = own_addresses_.take()) settings_.own_addresses = std::move(*found);
  }

  /// The time until a transfer, a pool or a lookup is due; at most a second.
  platform::Milliseconds longest_wait() const {
    const auto now = platform::monotonic_now();
    auto next = now + platform::Milliseconds(1000);
    for (const auto& due : {transfers_.next_timeout(), pools_.next_overdue(), lookups_.next_timeout()})
      next = std::min(next, due.value_or(next));
    return std::chrono::ceil<platform::Milliseconds>(std::max(next, now) - now);
  }

  void start_submitted() {
    for (auto& request : submitted_.take()) {
      if (request.purpose == Request::Purpose::deliver) {
        if (request.observed)
          request.observed->expects_kept = transfers_.has_room() && pools_.may_have_idle(request.host);
        start(pools_.add(std::move(request), platform::monotonic_now()));
      } else if (!stopping_)
        begin_check(std::move(request));
    }
    if (returning_.exchange(false) || stopping_) end_unstarted(pools_.take_all_waiting());
  }

  /// Starts requests on further connections (ConnectionPools::overdue).
  void open_more() {
    std::optional<Transfers::Hosts> hosts;  // computed once for all pools that ask
    const auto find = [&](const Request& request, platform::MonotonicTime since) {
      if (transfers_.would_wait(request.to_quick, since)) return Connecting::others_first;
      if (!hosts) hosts = connecting_hosts();
      return hosts->contains(request.host) ? Connecting::yes : Connecting::no;
    };
    auto overdue =
        pools_.overdue(platform::monotonic_now(), transfers_.dials_now(), transfers_.has_room(), find);
    for (auto& request : overdue.start) start(std::move(request));
    end_unstarted(std::move(overdue.hand_back));
  }

  /// Hosts to which a connection is being made, including the lookup of the name.
  Transfers::Hosts connecting_hosts() const {
    auto hosts = transfers_.connecting();
    hosts.merge(lookups_.hosts());
    return hosts;
  }

  void end_unstarted(std::vector<Request> requests) {
    for (auto& request : requests) ended_.push_back(not_started(std::move(request)));
  }

  /// Starts a request. As long as an attempt ends at once, starts the host's next request.
  void start(std::optional<Request> request) {
    while (request) {
      auto attempt = begin(std::move(*request));
      if (!attempt) return;
      request = next_after_unsent(std::move(*attempt));
    }
  }

  /// Begins an attempt, and returns it if it has ended already.
  std::optional<Attempt> begin(Request request) {
    const auto now = platform::monotonic_now();
    // The attempt must end within the lease: after the lease another dispatcher may send the delivery.
    if (stopping_ || outdated(request, now) || now + settings_.timeout >= request.lease_until)
      return not_started(std::move(request));
    if (!may_reach(request)) return sandboxed(std::move(request));
    auto job = lookups_.find(begun(std::move(request)));
    return job ? transfers_.begin(std::move(*job)) : std::nullopt;
  }

  bool may_reach(const Request& request) const {
    return webhook::may_reach(webhook::host_name(request.host), settings_);
  }

  /// Ends an attempt that used no connection, and returns the host's next request.
  std::optional<Request> next_after_unsent(Attempt attempt) {
    auto next = pools_.ended(attempt.host, attempt.delivery.webhook, true, platform::monotonic_now());
    ended_.push_back(std::move(attempt));
    return next;
  }

  /// Begins a lookup that bypasses the cache, or a handshake on a new connection. If the URL's host is an
  /// address or in delivery.host_overrides, there is nothing to look up: a lookup then ends at once, with the
  /// addresses from there.
  void begin_check(Request request) {
    if (!may_reach(request)) {
      ended_.push_back(sandboxed(std::move(request)));
      return;
    }
    auto job = lookups_.find(begun(std::move(request)));
    if (!job) return;
    if (job->request.purpose == Request::Purpose::lookup) {
      auto& observed = *job->request.observed;
      observed.literal = true;
      observed.addresses = addresses_of(route_of(job->request.url, settings_.host_overrides));
      ended_.push_back(attempt_of(std::move(*job), TransportResult::answered));
    } else if (auto attempt = transfers_.begin(std::move(*job))) {
      ended_.push_back(std::move(*attempt));
    }
  }

  /// Goes on with the jobs that waited for a lookup that has ended. One time stands for all: an answer that
  /// came before another lookup failed must not pass for a later sign of life.
  void start_found() {
    const auto now = platform::monotonic_now();
    for (auto& [job, servers] : lookups_.take_found()) {
      if (servers == Resolution::Servers::answered) job.name_answered = now;
      if (job.request.purpose == Request::Purpose::lookup) {
        ended_.push_back(lookup_attempt(std::move(job), servers));
      } else {
        start_found(std::move(job), servers, now);
      }
    }
  }

  void start_found(Job job, Resolution::Servers servers, platform::MonotonicTime now) {
    if (servers == Resolution::Servers::not_asked) {
      start(next_after_unsent(attempt_of(std::move(job), TransportResult::local_failure)));
    } else if (job.addresses.empty()) {
      finish(unresolved(std::move(job), servers == Resolution::Servers::silent), false);
    } else if (outdated(job.request, now)) {
      // The name is cached now: the next claim sends the delivery soon.
      start(next_after_unsent(not_started(std::move(job.request))));
    } else if (auto attempt = transfers_.begin(std::move(job))) {
      start(next_after_unsent(std::move(*attempt)));
    }
  }

  void finish_ended() {
    for (auto& [purpose, attempt, kept] : transfers_.advance()) {
      if (purpose == Request::Purpose::deliver) {
        finish(std::move(attempt), kept);
      } else {
        ended_.push_back(std::move(attempt));
      }
    }
  }

  void finish(Attempt attempt, bool kept) {
    const auto host = attempt.host;
    const auto webhook = attempt.delivery.webhook;
    // The webhook's waiting requests do not try an unreachable receiver again: they are handed back, and
    // claimed again one at a time.
    if (attempt.transport == TransportResult::answered) {
      pools_.answered(host, attempt.duration);
    } else if (!attempt.observed) {
      end_unstarted(pools_.take_waiting(host, webhook));
    }
    ended_.push_back(std::move(attempt));
    start(pools_.ended(host, webhook, kept, platform::monotonic_now()));
  }

  config::DeliverySettings settings_;  // only own_addresses changes
  OwnAddresses own_addresses_;
  platform::Mailbox<Attempt>& attempts_;
  platform::Mailbox<Request> submitted_;
  std::atomic<bool> returning_ = false;
  std::atomic<bool> stopping_ = false;
  platform::Heartbeat heartbeat_;
  Poller poller_;
  Lookups lookups_;
  Transfers transfers_;
  ConnectionPools pools_{settings_.max_in_flight_per_host};
  std::vector<Attempt> ended_;  // not yet put into attempts_
  std::jthread thread_;         // last: it uses the members above
};

Sender::Sender(const config::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
               const std::vector<std::string>& database_hosts)
    : impl_(std::make_unique<Impl>(settings, attempts, database_hosts)) {}
Sender::~Sender() = default;
void Sender::submit(std::vector<Request> requests) {
  if (!requests.empty()) impl_->submit(std::move(requests));
}
void Sender::return_waiting() { impl_->return_waiting(); }
void Sender::stop_starting() { impl_->stop_starting(); }
const platform::Heartbeat& Sender::heartbeat() const { return impl_->heartbeat(); }

}  // namespace dispatcher
