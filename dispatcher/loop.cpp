#include "loop.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <random>

#include "platform/service_manager.hpp"
#include "request.hpp"
#include "store/arrival.hpp"
#include "store/waiting.hpp"
#include "webhook/key_file.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;

constexpr Milliseconds away_wait{500};      // between tries while the database is away
constexpr Milliseconds drain_margin{5000};  // beyond delivery.timeout, for the last settlements

Slots::Outcome outcome_of(Ending ending) {
  if (ending == Ending::not_started || ending == Ending::local_failure) return Slots::Outcome::not_started;
  return ending == Ending::answered ? Slots::Outcome::answered : Slots::Outcome::failed;
}

}  // namespace

Loop::Loop(const platform::Settings& settings, webhook::KeyRing keys, store::Session session,
           const platform::Log& log, const Metrics& metrics)
    : settings_(settings.delivery),
      key_file_(settings.secrets.key_file),
      keys_(std::move(keys)),
      session_(std::move(session)),
      log_(log),
      metrics_(metrics),
      slots_(settings.delivery.max_in_flight, settings.delivery.max_in_flight_per_webhook),
      upkeep_(settings, log, metrics),
      lookout_(settings.delivery.poll_interval, static_cast<std::int64_t>(std::random_device{}() % 1000)),
      intake_(settings.delivery, log, metrics),
      outcomes_(settings.delivery, log, metrics),
      sender_(settings.delivery, attempts_) {}

void Loop::run(const platform::StopSignal& stop, const platform::ReloadSignal& reload) {
  const auto check = [this] { store::glance_at_queue(session_); };
  const auto between = [&] {
    go_on();
    if (reload.take()) webhook::reload_keys(keys_, key_file_, log_);
  };
  if (!store::await_database(check, between, stop, log_)) return;
  while (!stop.requested()) {
    if (reload.take()) webhook::reload_keys(keys_, key_file_, log_);
    const bool busy = round();
    show();
    go_on();
    if (!busy) wait(away_ ? away_wait : until_next_look(), {stop.fd(), reload.fd()});
  }
  drain();
}

/// One pass; true when there may be more to do at once.
bool Loop::round() {
  try {
    const bool busy = work();
    idle_ = !busy;
    report_back();
    return busy;
  } catch (const store::Unavailable& error) {
    report_away(error);
    return false;
  }
}

bool Loop::work() {
  collect();
  bool busy = duty("settle", [this] { return settle(); });
  duty("upkeep", [this] { return upkeep_.run(session_, std::chrono::steady_clock::now(), idle_), false; });
  const bool was_paused = lookout_.paused();
  duty("look", [this] { return lookout_.look(session_, std::chrono::steady_clock::now(), idle_), false; });
  if (lookout_.paused() && !was_paused) sender_.return_waiting();
  if (!lookout_.paused() && !outcomes_.refused()) busy = take_in() || busy;
  return busy;
}

/// Claims what waits and expands what is new. Whoever went second last time goes first: neither can take
/// every slot that comes free.
bool Loop::take_in() {
  expand_first_ = !expand_first_;
  bool busy = expand_first_ ? take_in("expand", &Intake::expand) : take_in("claim", &Intake::claim);
  busy = (expand_first_ ? take_in("claim", &Intake::claim) : take_in("expand", &Intake::expand)) || busy;
  return take_in("expand ahead", &Intake::expand_ahead) || busy;
}

bool Loop::take_in(std::string_view name, Source source) {
  return duty(name, [&] {
    auto shipment = (intake_.*source)(session_, lookout_, slots_);
    const bool worked = shipment.worked;
    send(std::move(shipment));
    return worked;
  });
}

/// One duty of a round: what goes wrong in it does not keep the others from their turn. False when it went
/// wrong.
template <class F>
bool Loop::duty(std::string_view name, F&& body) {
  go_on();
  try {
    return body();
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::Conflict& error) {
    log_.info("others were faster; trying again", {{"duty", name}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log_.error("a duty failed and will be tried again", {{"duty", name}, {"error", error.what()}});
    session_.disconnect();  // whatever state it is in
    wait(away_wait);
  }
  return false;
}

/// Of a round, for whoever looks at the metrics.
void Loop::show() const {
  metrics_.rounds.add();
  metrics_.in_flight.set(slots_.in_flight());
  metrics_.unsettled.set(static_cast<double>(outcomes_.waiting()));
  metrics_.database_up.set(away_ ? 0 : 1);
  metrics_.paused.set(lookout_.paused() ? 1 : 0);
}

void Loop::report_away(const std::exception& error) {
  if (std::exchange(away_, true)) return;
  log_.warning("the database is away; trying again until it is back", {{"error", error.what()}});
}

void Loop::report_back() {
  if (!std::exchange(away_, false)) return;
  log_.info("the database is back");
}

Milliseconds Loop::until_next_look() const {
  const auto wait = std::chrono::ceil<Milliseconds>(lookout_.next_look() - std::chrono::steady_clock::now());
  return std::clamp(wait, Milliseconds{1},
                    std::min(Lookout::longest_interval(settings_.poll_interval), watchdog_.interval()));
}

/// The watchdog is told that both threads go on.
void Loop::go_on() { watchdog_.feed_if(sender_.pulse(), std::chrono::steady_clock::now()); }

/// Until an attempt has ended, one of these descriptors is readable, or the time is up.
void Loop::wait(Milliseconds longest, std::array<int, 2> signals) {
  std::array<pollfd, 3> descriptors{pollfd{attempts_.fd(), POLLIN, 0}, pollfd{signals[0], POLLIN, 0},
                                    pollfd{signals[1], POLLIN, 0}};
  // While the database is away, results that cannot be settled must not turn the wait into a spin.
  if (away_) descriptors[0].fd = -1;
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(longest.count()));
}

/// Takes what the network has finished: from here on it waits to be settled, and its slot is free.
void Loop::collect() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& attempt : attempts_.take()) {
    slots_.give_back(attempt.delivery.webhook, outcome_of(attempt.ending), now);
    lookout_.entities().relieve(attempt.delivery.entity);
    outcomes_.add(attempt);
  }
}

bool Loop::settle() {
  const bool any = outcomes_.settle(session_);
  const auto now = std::chrono::steady_clock::now();
  for (const auto& wake : outcomes_.take_wakes()) lookout_.webhooks().waits(wake.webhook, now + wake.wait);
  return any;
}

void Loop::send(Shipment shipment) {
  const auto keys = keys_.current();
  std::vector<Request> requests;
  for (auto& delivery : shipment.deliveries) {
    const auto webhook = delivery.webhook;
    const auto& [target, probing] = shipment.destinations.at(webhook);
    auto request =
        prepare_request(delivery, target, *keys, platform::utc_now(), shipment.leased_at + settings_.lease);
    if (!request) {
      outcomes_.hold(delivery);
      continue;
    }
    requests.push_back(std::move(*request));
  }
  // Once nothing can fail any more: a slot taken for what is never sent would be lost.
  const auto now = std::chrono::steady_clock::now();
  for (const auto& request : requests) {
    const auto webhook = request.delivery.webhook;
    slots_.take(webhook, shipment.destinations.at(webhook).probing, now);
  }
  sender_.submit(std::move(requests));
}

void Loop::drain() {
  platform::notify_service_manager("STOPPING=1");
  log_.info("stopping: nothing more is started", {{"in_flight", slots_.in_flight()}});
  sender_.stop_starting();
  const auto deadline = std::chrono::steady_clock::now() + settings_.timeout + drain_margin;
  for (;;) {
    collect();
    try {
      duty("settle", [this] { return settle(); });
      report_back();
    } catch (const store::Unavailable& error) {
      report_away(error);
    }
    show();
    const bool done = slots_.in_flight() == 0 && outcomes_.waiting() == 0;
    if (done || std::chrono::steady_clock::now() >= deadline) break;
    wait(away_ ? away_wait : settings_.poll_interval);
  }
  const auto left = slots_.in_flight() + outcomes_.waiting();
  if (left > 0)
    log_.warning("stopped without settling everything: it is attempted again after its lease",
                 {{"deliveries", left}});
  log_.info("stopped");
}

}  // namespace dispatcher
