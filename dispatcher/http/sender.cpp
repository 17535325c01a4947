#include "dispatcher/http/sender.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/descriptors.hpp"
#include "dispatcher/http/dialler.hpp"
#include "dispatcher/http/own_addresses.hpp"
#include "dispatcher/http/poller.hpp"
#include "dispatcher/http/resolver.hpp"
#include "dispatcher/http/route.hpp"
#include "dispatcher/http/transfer.hpp"
#include "dispatcher/http/transport.hpp"

namespace dispatcher {

namespace {

/// Once in a process, before any thread uses libcurl.
void initialise_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK)
    throw std::runtime_error(std::string("libcurl cannot start: ") + curl_easy_strerror(code));
}

/// The part of connect_timeout that a lookup may take. A name with an answer to only one of its two questions
/// (IPv4 and IPv6) takes all of that part, and is dialled in the rest of connect_timeout.
platform::Milliseconds lookup_patience(const platform::DeliverySettings& settings) {
  return settings.connect_timeout * 3 / 4;
}

/// A request is not sent if its configuration was read longer ago: the webhook may be disabled, deleted or
/// changed since. The request is handed back, and claimed again.
constexpr platform::Milliseconds longest_age{1000};
bool outdated(const Request& request, platform::MonotonicTime now) {
  return now >= request.read_at + longest_age;
}

Attempt not_started(Request request) {
  Attempt attempt;
  attempt.delivery = std::move(request.delivery);
  attempt.test_request = std::move(request.test_request);
  return attempt;
}

}  // namespace

class Sender::Impl {
 public:
  Impl(const platform::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
       const std::vector<std::string>& database_hosts)
      : settings_(settings),
        own_addresses_(database_hosts),
        attempts_(attempts),
        routes_(settings_.host_overrides),
        resolver_(lookup_patience(settings_), poller_),
        dialler_(settings_, poller_) {
    initialise_curl();
    learn_own_addresses();
    transport_ = std::make_unique<Transport>(settings_.max_in_flight, poller_);
    thread_ = std::jthread([this](const std::stop_token& abandon) { run(abandon); });
  }

  ~Impl() {
    thread_.request_stop();
    submitted_.wake();
    if (thread_.joinable()) thread_.join();
    for (const auto& transfer : transfers_) transport_->remove(transfer->handle(), key_of(*transfer));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void submit(std::vector<Request> requests) { submitted_.put(std::move(requests)); }
  std::vector<Check> take_checks() { return checks_.take(); }

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
      start_resolved();
      start_dialled();
      transport_->process_overdue();
      finish_done();
      resume_interrupted();
      attempts_.put(std::exchange(ended_, {}));
      for (const auto& event : poller_.wait(longest_wait())) {
        if (event.fd != submitted_.fd() && !resolver_.process(event) && !dialler_.process(event))
          transport_->process(event);
      }
      resolver_.process_overdue();
      dialler_.process_overdue();
    }
  }

  void learn_own_addresses() {
    if (auto found = own_addresses_.take()) settings_.own_addresses = std::move(*found);
  }

  /// Requests to one host share connections, so they share a multi handle.
  static std::uint64_t key_of(const Transfer& transfer) { return std::hash<std::string>{}(transfer.host()); }

  /// The time until libcurl's timer, a pool, a dial or a lookup is due; at most a second.
  platform::Milliseconds longest_wait() const {
    const auto now = platform::monotonic_now();
    auto next = now + platform::Milliseconds(1000);
    for (const auto& due : {transport_->next_timeout(), pools_.next_overdue(), dialler_.next_timeout(),
                            resolver_.next_timeout()})
      next = std::min(next, due.value_or(next));
    return std::chrono::ceil<platform::Milliseconds>(std::max(next, now) - now);
  }

  void start_submitted() {
    for (auto& request : submitted_.take()) {
      if (request.purpose == Request::Purpose::deliver) {
        if (request.test_request)
          request.test_request->expects_kept = has_room() && pools_.may_have_idle(request.host);
        start(pools_.add(std::move(request), platform::monotonic_now()));
      } else if (!stopping_)
        begin_check(std::move(request));
    }
    if (returning_.exchange(false) || stopping_) end_unstarted(pools_.take_all_waiting());
  }

  /// True: libcurl can open a connection without closing a kept one.
  bool has_room() const { return connections_.sockets < connections_for(settings_.max_in_flight) / 4 * 3; }

  /// Starts requests on further connections, none in advance if libcurl might close a kept connection for it.
  void open_more() {
    std::optional<std::set<std::string_view>> connecting;  // computed once for all pools that ask
    auto overdue = pools_.overdue(platform::monotonic_now(), has_room(), [&](const std::string& host) {
      if (!connecting) connecting = connecting_hosts();
      return connecting->contains(host);
    });
    for (auto& request : overdue.start) start(std::move(request));
    end_unstarted(std::move(overdue.hand_back));
  }

  /// Hosts to which a connection is being made, including the lookup of the name.
  std::set<std::string_view> connecting_hosts() const {
    std::set<std::string_view> hosts;
    for (const auto& [name, jobs] : waiting_) {
      for (const auto& job : jobs) hosts.insert(job.request.host);
    }
    for (const auto& transfer : transfers_) {
      if (!transfer->connected()) hosts.insert(transfer->host());
    }
    return hosts;
  }

  void end_unstarted(std::vector<Request> requests) {
    for (auto& request : requests) ended_.push_back(not_started(std::move(request)));
  }

  void start(std::optional<Request> request) {
    while (request) {
      const auto webhook = request->delivery.webhook;
      const auto host = request->host;
      const auto now = platform::monotonic_now();
      // The attempt must end within the lease: after it another dispatcher may send the delivery.
      if (stopping_ || outdated(*request, now) || now + settings_.timeout >= request->lease_until) {
        ended_.push_back(not_started(std::move(*request)));
      } else if (begin({std::move(*request), platform::utc_now(), now})) {
        return;
      }
      request = pools_.ended(host, webhook, true, platform::monotonic_now());
    }
  }

  /// Dials the host, or first looks up its name. False: the attempt has ended already.
  bool begin(Job job) {
    const auto& route = routes_.of(job.request.url);
    if (route.name.empty()) return dial(std::move(job), route, route.addresses);
    if (const auto* addresses = resolver_.cached(route.name, job.since))
      return dial(std::move(job), route, *addresses);
    resolver_.look_up(route.name);
    waiting_[route.name].push_back(std::move(job));
    return true;
  }

  /// Begins a check: a handshake on a new connection, or a lookup that bypasses the cache.
  void begin_check(Request request) {
    Job job{std::move(request), platform::utc_now(), platform::monotonic_now()};
    const auto& route = routes_.of(job.request.url);
    if (job.request.test_request && job.request.purpose == Request::Purpose::lookup && route.name.empty()) {
      job.request.test_request->literal = true;
      job.request.test_request->addresses = addresses_of(route);
      ended_.push_back(looked_up(std::move(job)));
    } else if (job.request.purpose == Request::Purpose::lookup && !route.name.empty()) {
      resolver_.look_up(route.name);
      waiting_[route.name].push_back(std::move(job));
    } else {
      const auto addresses =
          route.name.empty() || !job.request.address ? route.addresses : Addresses{*job.request.address};
      auto* transfer = idle_transfer();
      if (transfer == nullptr && job.request.test_request)
        ended_.push_back(not_made(std::move(job)));
      else if (transfer == nullptr)
        checks_.put({{Request::Purpose::handshake, job.request.host, Check::Outcome::not_asked, job.since,
                      job.since}});
      else if (!prepare(*transfer, std::move(job), route, addresses))
        finish(*transfer, CURLE_FAILED_INIT);
    }
  }

  void finish_check(Attempt attempt) {
    using enum Check::Outcome;
    if (attempt.test_request) return ended_.push_back(std::move(attempt));
    const auto outcome = attempt.silence != delivery::Silence::none                      ? silent
                         : attempt.heard                                                 ? heard
                         : attempt.transport == delivery::TransportResult::local_failure ? not_asked
                                                                                         : nothing;
    checks_.put({{Request::Purpose::handshake, attempt.host, outcome, attempt.ended - attempt.duration,
                  attempt.heard.value_or(attempt.ended)}});
  }

  void finish_lookup(Job job, const Addresses& addresses, Resolution::Servers servers) {
    using enum Check::Outcome;
    if (job.request.test_request && servers == Resolution::Servers::not_asked)
      return ended_.push_back(not_made(std::move(job)));
    if (job.request.test_request && addresses.empty())
      return ended_.push_back(unresolved(std::move(job), servers == Resolution::Servers::silent));
    if (job.request.test_request) {
      job.request.test_request->addresses = addresses;
      return ended_.push_back(looked_up(std::move(job)));
    }
    const auto outcome = servers == Resolution::Servers::answered    ? heard
                         : servers == Resolution::Servers::silent    ? silent
                         : servers == Resolution::Servers::not_asked ? not_asked
                                                                     : nothing;
    checks_.put(
        {{Request::Purpose::lookup, job.request.host, outcome, job.since, platform::monotonic_now()}});
  }

  /// Goes on with the requests that waited for a lookup that has ended.
  void start_resolved() {
    for (const auto& [name, addresses, servers] : resolver_.take_finished()) {
      auto waited = waiting_.extract(name);
      if (!waited) continue;
      for (auto& job : waited.mapped()) {
        if (job.request.purpose == Request::Purpose::lookup) {
          finish_lookup(std::move(job), addresses, servers);
          continue;
        }
        const auto webhook = job.request.delivery.webhook;
        const auto host = job.request.host;
        if (servers == Resolution::Servers::answered) job.name_answered = platform::monotonic_now();
        if (servers == Resolution::Servers::not_asked) {
          ended_.push_back(not_made(std::move(job)));
          start(pools_.ended(host, webhook, true, platform::monotonic_now()));
        } else if (addresses.empty()) {
          finish(unresolved(std::move(job), servers == Resolution::Servers::silent), host, false);
        } else if (outdated(job.request, platform::monotonic_now())) {
          // The name is cached now: the next claim sends the delivery soon.
          ended_.push_back(not_started(std::move(job.request)));
          start(pools_.ended(host, webhook, true, platform::monotonic_now()));
        } else if (const auto& route = routes_.of(job.request.url); !dial(std::move(job), route, addresses)) {
          start(pools_.ended(host, webhook, true, platform::monotonic_now()));
        }
      }
    }
  }

  /// Gives the job to libcurl. False: this host could not, and the attempt has ended.
  bool dial(Job job, const Route& route, const Addresses& addresses) {
    auto* transfer = idle_transfer();
    if (transfer == nullptr) {
      ended_.push_back(not_made(std::move(job)));
      return false;
    }
    if (prepare(*transfer, std::move(job), route, addresses)) return true;
    ended_.push_back(end(*transfer, CURLE_FAILED_INIT));
    return false;
  }

  /// As add(), for a new job, which `transfer` holds in either case.
  bool prepare(Transfer& transfer, Job job, const Route& route, const Addresses& addresses) {
    return add(transfer, [&] { transfer.begin(std::move(job), route, addresses); });
  }

  /// Calls `configure` and gives the transfer to libcurl. False: this host could not.
  template <class F>
  bool add(Transfer& transfer, F&& configure) {
    try {
      configure();
      return transport_->add(transfer.handle(), key_of(transfer));
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Returns a free transfer; nullptr: this host could not make one.
  Transfer* idle_transfer() {
    if (idle_.empty()) {
      try {
        return transfers_.emplace_back(std::make_unique<Transfer>(settings_, connections_)).get();
      } catch (const std::exception&) {
        return nullptr;
      }
    }
    auto* transfer = idle_.back();
    idle_.pop_back();
    return transfer;
  }

  Attempt end(Transfer& transfer, CURLcode code) {
    idle_.push_back(&transfer);
    return transfer.end(code);
  }

  void finish_done() {
    for (const auto& [handle, code] : transport_->take_ended()) {
      auto& transfer = Transfer::of(handle);
      if (transfer.interrupted()) continue;
      repeat_or_finish(transfer, code);
    }
  }

  void repeat_or_finish(Transfer& transfer, CURLcode code) {
    if (!transfer.needs_fresh_connection(code)) {
      finish(transfer, code);
    } else if (!add(transfer, [&] { transfer.begin_again(); })) {
      finish(transfer, CURLE_FAILED_INIT);
    }
  }

  void resume_interrupted() {
    for (auto* handle : std::exchange(connections_.interrupted, {})) {
      auto& transfer = Transfer::of(handle);
      transport_->remove(handle, key_of(transfer));
      if (transfer.needs_dial())
        dialler_.dial(&transfer, transfer.host_name(), transfer.port(), transfer.addresses(),
                      transfer.connect_deadline());
      else
        repeat_or_finish(transfer, CURLE_ABORTED_BY_CALLBACK);
    }
  }

  void start_dialled() {
    for (auto& dialled : dialler_.take_ended()) {
      auto& transfer = *static_cast<Transfer*>(dialled.caller);
      if (dialled.socket.fd() < 0) {
        const auto purpose = transfer.purpose();
        idle_.push_back(&transfer);
        finish(purpose, transfer.end_undialled(dialled), false);
        continue;
      }
      resolver_.prefer(routes_.of(transfer.url()).name, *dialled.address);
      if (!add(transfer, [&] { transfer.begin_on(std::move(dialled.socket), *dialled.address); }))
        finish(transfer, CURLE_FAILED_INIT);
    }
  }

  void finish(Transfer& transfer, CURLcode code) {
    const auto purpose = transfer.purpose();
    finish(purpose, end(transfer, code), code == CURLE_OK);
  }

  void finish(Request::Purpose purpose, Attempt attempt, bool kept) {
    if (purpose == Request::Purpose::deliver) {
      const auto host = attempt.host;
      finish(std::move(attempt), host, kept);
    } else {
      finish_check(std::move(attempt));
    }
  }

  void finish(Attempt attempt, const std::string& host, bool kept) {
    const auto webhook = attempt.delivery.webhook;
    // Waiting requests do not try an unreachable receiver again: they are handed back, and claimed again one
    // at a time.
    if (attempt.transport == TransportResult::answered) {
      pools_.answered(host, attempt.duration);
    } else if (!attempt.test_request) {
      end_unstarted(pools_.take_waiting(host, webhook));
    }
    ended_.push_back(std::move(attempt));
    start(pools_.ended(host, webhook, kept, platform::monotonic_now()));
  }

  platform::DeliverySettings settings_;  // only own_addresses changes
  OwnAddresses own_addresses_;
  platform::Mailbox<Attempt>& attempts_;
  platform::Mailbox<Request> submitted_;
  platform::Mailbox<Check> checks_;
  std::atomic<bool> returning_ = false;
  std::atomic<bool> stopping_ = false;
  platform::Heartbeat heartbeat_;
  Poller poller_;
  Routes routes_;
  Resolver resolver_;
  Dialler dialler_;
  std::unordered_map<std::string, std::vector<Job>> waiting_;  // requests that wait for a lookup, by name
  Connections connections_;
  std::unique_ptr<Transport> transport_;  // its destructor closes connections, which connections_ counts
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<Transfer*> idle_;  // the free ones of transfers_
  ConnectionPools pools_{settings_.max_in_flight_per_host};
  std::vector<Attempt> ended_;  // not yet put into attempts_
  std::jthread thread_;         // last: it uses the members above
};

Sender::Sender(const platform::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
               const std::vector<std::string>& database_hosts)
    : impl_(std::make_unique<Impl>(settings, attempts, database_hosts)) {}
Sender::~Sender() = default;
void Sender::submit(std::vector<Request> requests) {
  if (!requests.empty()) impl_->submit(std::move(requests));
}
void Sender::check(std::vector<Request> requests) {
  if (!requests.empty()) impl_->submit(std::move(requests));
}
std::vector<Check> Sender::take_checks() { return impl_->take_checks(); }
void Sender::return_waiting() { impl_->return_waiting(); }
void Sender::stop_starting() { impl_->stop_starting(); }
const platform::Heartbeat& Sender::heartbeat() const { return impl_->heartbeat(); }

}  // namespace dispatcher
