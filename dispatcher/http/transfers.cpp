#include "dispatcher/http/transfers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "dispatcher/http/descriptors.hpp"

namespace dispatcher {

namespace {

/// Requests to one host share connections, so they share a multi handle.
std::uint64_t key_of(const Transfer& transfer) {
  return std::hash<std::string>{}(transfer.job().request.host);
}

/// A handshake takes as much of this thread's time as ten requests on kept connections. So few new
/// connections are begun at once, and only one after a round that took longer than this: otherwise the
/// handshakes of a broadcast would delay all other requests.
constexpr platform::Milliseconds short_round{20};
constexpr std::size_t dials_at_once = 8;
/// After this time a request asks for its connection although others wait to be dialled. Otherwise a webhook
/// whose host is kept busy by a slow one would get none during a broadcast: after 1 s its requests are handed
/// back, and those that are claimed again are younger.
constexpr platform::Milliseconds longest_patience{500};

}  // namespace

Transfers::Transfers(const config::DeliverySettings& settings, Poller& poller)
    : settings_(settings),
      poller_(poller),
      dialler_(settings, poller),
      transport_(settings.max_in_flight, poller) {}

Transfers::~Transfers() {
  for (const auto& transfer : transfers_) transport_.remove(transfer->handle(), key_of(*transfer));
}

std::optional<Attempt> Transfers::begin(Job job) {
  auto* transfer = idle_transfer();
  if (transfer == nullptr) return local_failure_of(std::move(job), delivery::LocalFault::other);
  if (add(*transfer, [&] { transfer->begin(std::move(job)); })) return std::nullopt;
  return end(*transfer, CURLE_FAILED_INIT);
}

std::vector<Transfers::Ended> Transfers::advance() {
  for (auto& dialled : dialler_.take_ended()) continue_dialled(std::move(dialled));
  for (const auto& [handle, code] : transport_.take_ended()) {
    auto& transfer = Transfer::of(handle);
    if (!transfer.interrupted()) repeat_or_finish(transfer, code);
  }
  for (auto* handle : std::exchange(connections_.interrupted, {})) continue_interrupted(handle);
  dial_some();
  end_overdue();
  end_silent();
  return std::exchange(ended_, {});
}

Transfers::Hosts Transfers::connecting() const {
  Hosts hosts;
  for (const auto& transfer : transfers_) {
    const auto& request = transfer->job().request;
    if (!transfer->connected() && request.purpose == Request::Purpose::deliver) hosts.insert(request.host);
  }
  return hosts;
}

bool Transfers::would_wait(bool to_quick, platform::MonotonicTime since) const {
  if (platform::monotonic_now() - since >= longest_patience) return false;
  const auto& [others, first] = undialled_;
  const auto is_before = [since](const auto& queue) {
    return !queue.empty() && queue.front().since <= since;
  };
  return is_before(first) || (!to_quick && is_before(others));
}

std::size_t Transfers::dials_now() const { return poller_.last_round() < short_round ? dials_at_once : 1; }

bool Transfers::has_room() const {
  return connections_.sockets < connections_for(settings_.max_in_flight) / 4 * 3;
}

void Transfers::process(const Poller::Event& event) {
  if (!dialler_.process(event)) transport_.process(event);
}

std::optional<platform::MonotonicTime> Transfers::next_timeout() const {
  if (!undialled_[0].empty() || !undialled_[1].empty() || !silent_.empty()) return platform::MonotonicTime{};
  auto next = next_deadline_;
  for (const auto& time : {dialler_.next_timeout(), transport_.next_timeout()}) {
    if (time && (!next || *time < *next)) next = time;
  }
  return next;
}

/// Calls `configure` and gives the transfer to libcurl. False: one of these failed, for example for lack of
/// memory.
template <class F>
bool Transfers::add(Transfer& transfer, F&& configure) {
  try {
    configure();
    if (!transport_.add(transfer.handle(), key_of(transfer))) return false;
    note_deadline(transfer);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Returns a free transfer, a new one if needed; nullptr: none could be made.
Transfer* Transfers::idle_transfer() {
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

Attempt Transfers::end(Transfer& transfer, CURLcode code) {
  idle_.push_back(&transfer);
  return transfer.end(code, poller_.stopped_since(transfer.job().since));
}

void Transfers::finish(Transfer& transfer, CURLcode code) {
  const auto purpose = transfer.job().request.purpose;
  note_ended({purpose, end(transfer, code), code == CURLE_OK});
}

void Transfers::note_ended(Ended ended) {
  const bool silent = ended.attempt.silence != delivery::Silence::none;
  (silent ? silent_ : ended_).push_back(std::move(ended));
}

/// A silent attempt ends when everything that came before has been read. Otherwise an answer that came before
/// the attempt failed, and was read after it, would pass for a later sign of life.
void Transfers::end_silent() {
  const auto still_unread = std::ranges::partition(
      silent_, [this](const Ended& one) { return one.attempt.ended < poller_.read_until(); });
  for (auto& one : std::ranges::subrange(silent_.begin(), still_unread.begin())) {
    const auto waited = platform::monotonic_now() - one.attempt.ended;
    one.attempt.ended += waited;
    one.attempt.duration += std::chrono::duration_cast<platform::Milliseconds>(waited);
    ended_.push_back(std::move(one));
  }
  silent_.erase(silent_.begin(), still_unread.begin());
}

void Transfers::repeat_or_finish(Transfer& transfer, CURLcode code) {
  if (!transfer.needs_fresh_connection(code)) {
    finish(transfer, code);
  } else if (!add(transfer, [&] { transfer.begin_again(); })) {
    finish(transfer, CURLE_FAILED_INIT);
  }
}

void Transfers::continue_dialled(Dialled dialled) {
  auto& transfer = *static_cast<Transfer*>(dialled.caller);
  if (dialled.socket.fd() < 0) {
    const auto purpose = transfer.job().request.purpose;
    idle_.push_back(&transfer);
    const bool stopped = poller_.stopped_since(transfer.job().since);
    note_ended({purpose, transfer.end_undialled(dialled, stopped), false});
    return;
  }
  if (!add(transfer, [&] { transfer.begin_on(std::move(dialled.socket), *dialled.address); }))
    finish(transfer, CURLE_FAILED_INIT);
}

void Transfers::note_deadline(const Transfer& transfer) {
  const auto deadline = transfer.deadline();
  if (deadline && (!next_deadline_ || *deadline < *next_deadline_)) next_deadline_ = deadline;
}

/// Ends the transfers in libcurl whose time is over.
void Transfers::end_overdue() {
  const auto now = poller_.read_until();
  if (!next_deadline_ || now < *next_deadline_) return;
  next_deadline_.reset();
  for (const auto& transfer : transfers_) {
    if (const auto deadline = transfer->deadline(); deadline && *deadline <= now) {
      transport_.remove(transfer->handle(), key_of(*transfer));
      finish(*transfer, CURLE_OPERATION_TIMEDOUT);
    } else {
      note_deadline(*transfer);
    }
  }
}

/// Goes on with a transfer that a callback of libcurl has interrupted: removes it from libcurl, then dials a
/// connection for it, repeats it or finishes it.
void Transfers::continue_interrupted(CURL* handle) {
  auto& transfer = Transfer::of(handle);
  transport_.remove(handle, key_of(transfer));
  if (transfer.needs_dial()) {
    const auto& request = transfer.job().request;
    const bool first = request.to_quick || request.purpose != Request::Purpose::deliver;
    undialled_[first].push_back({&transfer, platform::monotonic_now()});
  } else {
    repeat_or_finish(transfer, CURLE_ABORTED_BY_CALLBACK);
  }
}

/// Returns the next transfer to be dialled for, and since when it waits; nullopt: none waits. Three of four
/// are for quick webhooks, or checks.
std::optional<Transfers::Undialled> Transfers::take_undialled() {
  auto& [others, first] = undialled_;
  if (others.empty() && first.empty()) return std::nullopt;
  const bool others_turn = ++dials_ % 4 == 0;
  auto& from = first.empty() || (others_turn && !others.empty()) ? others : first;
  const auto next = from.front();
  from.pop_front();
  return next;
}

/// Begins some of the connections that are wanted.
void Transfers::dial_some() {
  const auto most = dials_now();
  for (std::size_t i = 0; i < most; ++i) {
    const auto next = take_undialled();
    if (!next) return;
    auto& transfer = *next->transfer;
    const auto now = platform::monotonic_now();
    // The attempt must end within the lease.
    const auto& request = transfer.job().request;
    if (request.purpose == Request::Purpose::deliver && now + settings_.timeout >= request.lease_until) {
      Dialled undialled;
      undialled.caller = &transfer;
      undialled.fault = delivery::LocalFault::other;
      continue_dialled(std::move(undialled));
      continue;
    }
    auto dial = transfer.begin_dial(now - next->since);
    dialler_.dial(&transfer, dial.host, dial.port, std::move(dial.addresses), dial.deadline);
  }
}

}  // namespace dispatcher
