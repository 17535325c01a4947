#include "dispatcher/http/sender.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/descriptors.hpp"
#include "dispatcher/http/dialler.hpp"
#include "dispatcher/http/job.hpp"
#include "dispatcher/http/lookups.hpp"
#include "dispatcher/http/own_addresses.hpp"
#include "dispatcher/http/poller.hpp"
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

/// A request is not sent if its configuration was read longer ago: the webhook may be disabled, deleted or
/// changed since. The request is handed back, and claimed again.
constexpr platform::Milliseconds longest_age{1000};
bool outdated(const Request& request, platform::MonotonicTime now) {
  return now >= request.read_at + longest_age;
}

}  // namespace

class Sender::Impl {
 public:
  Impl(const platform::DeliverySettings& settings, platform::Mailbox<Attempt>& attempts,
       const std::vector<std::string>& database_hosts)
      : settings_(settings),
        own_addresses_(database_hosts),
        attempts_(attempts),
        lookups_(settings_, poller_),
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
      start_found();
      start_dialled();
      transport_->process_overdue();
      finish_done();
      resume_interrupted();
      attempts_.put(std::exchange(ended_, {}));
      for (const auto& event : poller_.wait(longest_wait())) {
        if (event.fd != submitted_.fd() && !lookups_.process(event) && !dialler_.process(event))
          transport_->process(event);
      }
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
                            lookups_.next_timeout()})
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
    auto hosts = lookups_.hosts();
    for (const auto& transfer : transfers_) {
      if (!transfer->connected()) hosts.insert(transfer->host());
    }
    return hosts;
  }

  void end_unstarted(std::vector<Request> requests) {
    for (auto& request : requests) ended_.push_back(not_started(std::move(request)));
  }

  /// Starts a request, or if its attempt ends at once the host's next ones.
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
    // The attempt must end within the lease: after it another dispatcher may send the delivery.
    if (stopping_ || outdated(request, now) || now + settings_.timeout >= request.lease_until)
      return not_started(std::move(request));
    auto job = lookups_.find(begun(std::move(request)));
    return job ? dial(std::move(*job)) : std::nullopt;
  }

  /// Ends an attempt that used no connection, and returns the host's next request.
  std::optional<Request> next_after_unsent(Attempt attempt) {
    auto next = pools_.ended(attempt.host, attempt.delivery.webhook, true, platform::monotonic_now());
    ended_.push_back(std::move(attempt));
    return next;
  }

  /// Begins a check: a lookup that bypasses the cache, or a handshake on a new connection, also in place of
  /// the lookup of a URL with an address.
  void begin_check(Request request) {
    auto job = lookups_.find(begun(std::move(request)));
    if (!job) return;
    if (job->request.purpose == Request::Purpose::lookup && job->request.test_request) {
      auto& test_request = *job->request.test_request;
      test_request.literal = true;
      test_request.addresses = addresses_of(route_of(job->request.url, settings_.host_overrides));
      ended_.push_back(attempt_of(std::move(*job), TransportResult::answered));
    } else if (auto attempt = dial(std::move(*job))) {
      finish_check(std::move(*attempt));
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

  void finish_lookup(Job job, Resolution::Servers servers) {
    using enum Check::Outcome;
    if (job.request.test_request && servers == Resolution::Servers::not_asked)
      return ended_.push_back(attempt_of(std::move(job), TransportResult::local_failure));
    if (job.request.test_request && job.addresses.empty())
      return ended_.push_back(unresolved(std::move(job), servers == Resolution::Servers::silent));
    if (job.request.test_request) {
      job.request.test_request->addresses = job.addresses;
      return ended_.push_back(attempt_of(std::move(job), TransportResult::answered));
    }
    const auto outcome = servers == Resolution::Servers::answered    ? heard
                         : servers == Resolution::Servers::silent    ? silent
                         : servers == Resolution::Servers::not_asked ? not_asked
                                                                     : nothing;
    checks_.put(
        {{Request::Purpose::lookup, job.request.host, outcome, job.since, platform::monotonic_now()}});
  }

  /// Goes on with the jobs that waited for a lookup that has ended.
  void start_found() {
    for (auto& [job, servers] : lookups_.take_found()) {
      if (job.request.purpose == Request::Purpose::lookup) {
        finish_lookup(std::move(job), servers);
      } else {
        start_found(std::move(job), servers);
      }
    }
  }

  void start_found(Job job, Resolution::Servers servers) {
    const auto now = platform::monotonic_now();
    if (servers == Resolution::Servers::answered) job.name_answered = now;
    if (servers == Resolution::Servers::not_asked) {
      start(next_after_unsent(attempt_of(std::move(job), TransportResult::local_failure)));
    } else if (job.addresses.empty()) {
      finish(unresolved(std::move(job), servers == Resolution::Servers::silent), false);
    } else if (outdated(job.request, now)) {
      // The name is cached now: the next claim sends the delivery soon.
      start(next_after_unsent(not_started(std::move(job.request))));
    } else if (auto attempt = dial(std::move(job))) {
      start(next_after_unsent(std::move(*attempt)));
    }
  }

  /// Gives the job to libcurl. Returns the attempt if this host could not, which ends it.
  std::optional<Attempt> dial(Job job) {
    auto* transfer = idle_transfer();
    if (transfer == nullptr) return attempt_of(std::move(job), TransportResult::local_failure);
    if (add(*transfer, [&] { transfer->begin(std::move(job)); })) return std::nullopt;
    return end(*transfer, CURLE_FAILED_INIT);
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
      lookups_.prefer(transfer.url(), *dialled.address);
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
      finish(std::move(attempt), kept);
    } else {
      finish_check(std::move(attempt));
    }
  }

  void finish(Attempt attempt, bool kept) {
    const auto host = attempt.host;
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
  Lookups lookups_;
  Dialler dialler_;
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
