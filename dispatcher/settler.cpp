#include "settler.hpp"

#include <poll.h>

#include <iterator>
#include <utility>

namespace dispatcher {

namespace {

using platform::Milliseconds;

constexpr Milliseconds away_wait{500};  // between tries while the database is away
constexpr Milliseconds retry_wait{50};  // while something waits that could not be written
constexpr Milliseconds pulse_wait{1000};

}  // namespace

Settler::Settler(const platform::DeliverySettings& settings, store::Session session, const platform::Log& log,
                 const Metrics& metrics)
    : log_(log.with_own_lock()),
      session_(std::move(session)),
      outcomes_(settings, log_, metrics),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Settler::~Settler() {
  thread_.request_stop();
  items_.wake();
}

void Settler::add(std::vector<Attempt> attempts) {
  submit({std::make_move_iterator(attempts.begin()), std::make_move_iterator(attempts.end())});
}

void Settler::hold(std::vector<store::LeasedDelivery> deliveries) {
  submit({std::make_move_iterator(deliveries.begin()), std::make_move_iterator(deliveries.end())});
}

void Settler::submit(std::vector<Item> items) {
  submitted_ += items.size();
  items_.put(std::move(items));
}

void Settler::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pulse_.beat();
    take();
    const bool written = settle();
    publish(written);
    if (!written) wait(away_ ? away_wait : outcomes_.waiting() > 0 ? retry_wait : pulse_wait, !away_);
  }
}

void Settler::take() {
  const auto items = items_.take();
  for (const auto& item : items) {
    if (const auto* attempt = std::get_if<Attempt>(&item))
      outcomes_.add(*attempt);
    else
      outcomes_.hold(std::get<store::LeasedDelivery>(item));
  }
  unsettled_ = outcomes_.waiting();
  submitted_ -= items.size();
}

/// True when something was written. Whatever goes wrong, the outcomes stay and are tried again.
bool Settler::settle() {
  try {
    const bool written = outcomes_.settle(session_);
    if (std::exchange(away_, false)) log_.info("outcomes are recorded again");
    return written;
  } catch (const store::Unavailable& error) {
    if (!std::exchange(away_, true))
      log_.warning("outcomes wait for the database",
                   {{"count", outcomes_.waiting()}, {"error", error.what()}});
  } catch (const store::Conflict& error) {
    log_.info("others were faster; trying again", {{"duty", "settle"}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log_.error("a duty failed and will be tried again", {{"duty", "settle"}, {"error", error.what()}});
    session_.disconnect();  // whatever state it is in
    away_ = true;
  }
  return false;
}

void Settler::publish(bool written) {
  refused_ = outcomes_.refused();
  wakes_.put(outcomes_.take_wakes());
  if (unsettled_.exchange(outcomes_.waiting()) > 0 || written) wakes_.wake();
}

void Settler::wait(Milliseconds longest, bool for_more) const {
  pollfd more{for_more ? items_.fd() : -1, POLLIN, 0};
  ::poll(&more, 1, static_cast<int>(longest.count()));
}

}  // namespace dispatcher
