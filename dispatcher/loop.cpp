#include "loop.hpp"

#include <poll.h>

#include <algorithm>
#include <array>

#include "classify.hpp"
#include "expansion.hpp"
#include "request.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;

constexpr unsigned expansion_entities = 32;        // that take turns in one batch
constexpr unsigned expansion_notifications = 256;  // of one batch, at most 64 KiB each
constexpr std::size_t settlement_batch = 500;
constexpr Milliseconds away_wait{500};      // between tries while the database is away
constexpr Milliseconds drain_margin{5000};  // beyond delivery.timeout, for the last settlements

}  // namespace

Loop::Loop(const platform::Settings& settings, webhook::KeyRing keys, store::Session session,
           const platform::Log& log)
    : settings_(settings.delivery),
      keys_(std::move(keys)),
      session_(std::move(session)),
      log_(log),
      slots_(settings.delivery.max_in_flight, settings.delivery.max_in_flight_per_webhook),
      upkeep_(settings.retention, log),
      sender_(settings.delivery, attempts_),
      random_(std::random_device{}()) {
  // Each dispatcher of a cluster begins its turn elsewhere.
  entity_cursor_ = static_cast<store::EntityId>(random_() % 1000);
}

void Loop::check_database() { store::glance_at_queue(session_); }

void Loop::run(const platform::StopSignal& stop) {
  while (!stop.requested()) {
    const bool busy = round();
    if (!busy) wait(&stop, away_ ? away_wait : settings_.poll_interval);
  }
  drain();
}

/// One pass; true when there may be more to do at once.
bool Loop::round() {
  try {
    const bool busy = work();
    if (std::exchange(away_, false)) log_.info("the database is back");
    return busy;
  } catch (const store::Unavailable& error) {
    report_away(error);
    return false;
  }
}

bool Loop::work() {
  collect();
  bool busy = duty("settle", [this] { return settle(); });
  duty("upkeep", [this] { return upkeep_.run(session_, std::chrono::steady_clock::now()), false; });
  const auto glance = store::glance_at_queue(session_);
  if (!glance.paused && glance.pending_deliveries)
    busy = duty("claim", [this] { return claim_due(); }) || busy;
  if (!glance.paused && glance.pending_notifications)
    busy = duty("expand", [this] { return expand(); }) || busy;
  return busy;
}

/// One duty of a round: what goes wrong in it does not keep the others from their turn. False when it went
/// wrong.
template <class F>
bool Loop::duty(std::string_view name, F&& body) {
  try {
    return body();
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::Conflict& error) {
    log_.info("others were faster; trying again", {{"duty", name}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log_.error("a duty failed and will be tried again", {{"duty", name}, {"error", error.what()}});
    session_.disconnect();  // whatever state it is in
    wait(nullptr, away_wait);
  }
  return false;
}

void Loop::report_away(const std::exception& error) {
  if (std::exchange(away_, true)) return;
  log_.warning("the database is away; trying again until it is back", {{"error", error.what()}});
}

/// Until an attempt has ended, the signal comes (with `stop`), or the time is up.
void Loop::wait(const platform::StopSignal* stop, Milliseconds longest) {
  std::array<pollfd, 2> descriptors{pollfd{attempts_.fd(), POLLIN, 0},
                                    pollfd{stop != nullptr ? stop->fd() : -1, POLLIN, 0}};
  // While the database is away, results that cannot be settled must not turn the wait into a spin.
  if (away_) descriptors[0].fd = -1;
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(longest.count()));
}

/// Takes what the network has finished: from here on it waits to be settled, and its slot is free.
void Loop::collect() {
  for (const auto& attempt : attempts_.take()) {
    slots_.give_back(attempt.delivery.webhook);
    if (attempt.ending == Ending::not_started) {
      unreleased_.push_back(attempt.delivery);
    } else if (attempt.ending == Ending::local_failure) {
      // Not the receiver's fault, so no attempt of its own: it is tried again when the lease expires.
      log_.error("this host could not make an attempt (descriptors, memory, delivery.ca_file?)",
                 {{"delivery", attempt.delivery.id}, {"webhook", attempt.delivery.webhook}});
    } else {
      const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
      unsettled_.push_back(classify(attempt, settings_, chance, platform::utc_now()));
      log_attempt(attempt, unsettled_.back());
    }
  }
}

void Loop::log_attempt(const Attempt& attempt, const store::Settlement& settlement) const {
  const auto& delivery = attempt.delivery;
  const std::initializer_list<platform::LogField> fields = {{"delivery", delivery.id},
                                                            {"notification", delivery.notification},
                                                            {"entity", delivery.entity},
                                                            {"webhook", delivery.webhook},
                                                            {"event", webhook::name(delivery.event)},
                                                            {"attempt", delivery.attempts + 1},
                                                            {"duration_ms", attempt.duration.count()},
                                                            {"status", attempt.status},
                                                            {"error", settlement.error}};
  if (settlement.state == store::SettledState::delivered) {
    log_.debug("delivered", fields);
  } else if (settlement.state == store::SettledState::failed) {
    log_.warning("delivery failed for good", fields);
  } else {
    log_.info("attempt failed", fields);
  }
}

/// Writes down what became of attempts; what could not be written stays for the next round.
bool Loop::settle() {
  if (!unreleased_.empty()) {
    store::release_leases(session_, unreleased_);
    unreleased_.clear();
  }
  const bool any = !unsettled_.empty();
  while (!unsettled_.empty()) {
    const auto end =
        unsettled_.begin() + static_cast<std::ptrdiff_t>(std::min(unsettled_.size(), settlement_batch));
    settle_batch({unsettled_.begin(), end});
    unsettled_.erase(unsettled_.begin(), end);
  }
  return any;
}

/// One that the database refuses must not keep the rest of its batch from being written: then each goes
/// alone.
void Loop::settle_batch(const std::vector<store::Settlement>& batch) {
  try {
    report_settled(store::settle(session_, batch, settings_.disable_after));
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::Conflict&) {
    throw;
  } catch (const store::DatabaseError& error) {
    if (batch.size() > 1) {
      for (const auto& settlement : batch) settle_batch({settlement});
      return;
    }
    log_.error("an outcome cannot be recorded: the delivery is attempted again after its lease",
               {{"delivery", batch.front().id}, {"error", error.what()}});
  }
}

void Loop::report_settled(const store::SettleResult& result) const {
  if (result.stale > 0) {
    log_.warning("attempts ended after their lease: others own the deliveries",
                 {{"deliveries", result.stale}});
  }
  for (const auto webhook : result.deactivated) {
    log_.warning("webhook deactivated: its receiver fails or answered 410", {{"webhook", webhook}});
  }
}

store::Lease Loop::new_lease() { return {random_(), settings_.lease}; }

/// How many of each webhook may start, in turns that go on where the last one ended.
std::vector<store::ClaimRequest> Loop::plan_claims(const std::vector<store::DueWebhook>& due) {
  std::vector<store::ClaimRequest> requests;
  Slots planned = slots_;
  const auto first =
      std::ranges::find_if(due, [&](const auto& d) { return d.target.webhook > webhook_cursor_; }) -
      due.begin();
  for (std::size_t i = 0; i < due.size() && !planned.full(); ++i) {
    const auto& candidate = due[(static_cast<std::size_t>(first) + i) % due.size()];
    const unsigned count = planned.available(candidate.target.webhook, candidate.probing);
    if (count == 0) continue;
    for (unsigned n = 0; n < count; ++n) planned.take(candidate.target.webhook, candidate.probing);
    requests.push_back({candidate.target.webhook, count});
    webhook_cursor_ = candidate.target.webhook;
  }
  return requests;
}

bool Loop::claim_due() {
  const auto due = store::due_webhooks(session_);
  const auto requests = plan_claims(due);
  if (requests.empty()) return false;
  const auto claimed_at = std::chrono::steady_clock::now();
  auto deliveries = store::claim(session_, requests, new_lease());
  Targets targets;
  std::map<store::WebhookId, bool> probing;
  for (const auto& webhook : due) {
    targets.emplace(webhook.target.webhook, webhook.target);
    probing.emplace(webhook.target.webhook, webhook.probing);
  }
  const bool any = !deliveries.empty();
  send(std::move(deliveries), targets, probing, claimed_at);
  return any;
}

bool Loop::expand() {
  const auto entities =
      store::entities_with_pending(session_, entity_cursor_, expand_alone_ > 0 ? 1 : expansion_entities);
  if (entities.empty()) return false;
  entity_cursor_ = entities.back();  // before anything can fail: the next turn is somebody else's
  if (expand_alone_ > 0) --expand_alone_;
  try {
    return expand(entities);
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::DatabaseError&) {
    expand_alone_ = expansion_entities;  // if it is one of them, the others go without it
    throw;
  }
}

bool Loop::expand(const std::vector<store::EntityId>& entities) {
  const auto per_entity = expansion_notifications / static_cast<unsigned>(entities.size());
  const auto lease = new_lease();
  std::vector<store::PendingNotification> notifications;
  std::map<store::EntityId, store::Recipient> recipients;
  store::Expansion expansion;
  const auto claimed_at = std::chrono::steady_clock::now();
  const auto born = store::transaction(session_, [&] {
    notifications = store::take_pending(session_, entities, per_entity);
    recipients = store::load_recipients(session_, entities);
    expansion = plan_expansion(notifications, recipients, slots_);
    return store::write_expansion(session_, expansion, lease);
  });
  for (const auto& [id, reason] : expansion.rejected) {
    log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  }

  std::map<store::NotificationId, const store::PendingNotification*> by_id;
  for (const auto& notification : notifications) by_id.emplace(notification.id, &notification);
  Targets targets;
  std::map<store::WebhookId, bool> probing;
  for (const auto& [id, recipient] : recipients) {
    for (const auto& subscriber : recipient.webhooks) {
      targets.emplace(subscriber.target.webhook, subscriber.target);
      probing.emplace(subscriber.target.webhook, subscriber.probing);
    }
  }
  std::vector<store::LeasedDelivery> deliveries;
  for (const auto& delivery : born) {
    const auto& notification = *by_id.at(delivery.notification);
    deliveries.push_back({.id = delivery.id,
                          .webhook = delivery.webhook,
                          .notification = notification.id,
                          .entity = notification.entity,
                          .lease = lease.token,
                          .event = webhook::find_event(notification.event).value(),
                          .occurred = notification.occurred.value(),
                          .created = delivery.created,
                          .data = notification.data});
  }
  send(std::move(deliveries), targets, probing, claimed_at);
  return !notifications.empty();
}

void Loop::send(std::vector<store::LeasedDelivery> deliveries, const Targets& targets,
                const std::map<store::WebhookId, bool>& probing, platform::MonotonicTime claimed_at) {
  std::vector<Request> requests;
  for (auto& delivery : deliveries) {
    const auto webhook = delivery.webhook;
    auto request = prepare_request(delivery, targets.at(webhook), keys_, platform::utc_now(),
                                   claimed_at + settings_.lease);
    if (!request) {
      log_.error(
          "the secret of a webhook cannot be decrypted: its deliveries are held (check secrets.key_file)",
          {{"webhook", webhook}, {"delivery", delivery.id}});
      unsettled_.push_back(hold_unreadable(delivery));
      continue;
    }
    slots_.take(webhook, probing.at(webhook));
    requests.push_back(std::move(*request));
  }
  sender_.submit(std::move(requests));
}

void Loop::drain() {
  log_.info("stopping: nothing more is started", {{"in_flight", slots_.in_flight()}});
  sender_.stop_starting();
  const auto deadline = std::chrono::steady_clock::now() + settings_.timeout + drain_margin;
  for (;;) {
    collect();
    try {
      duty("settle", [this] { return settle(); });
      if (std::exchange(away_, false)) log_.info("the database is back");
    } catch (const store::Unavailable& error) {
      report_away(error);
    }
    const bool done = slots_.in_flight() == 0 && unsettled_.empty() && unreleased_.empty();
    if (done || std::chrono::steady_clock::now() >= deadline) break;
    wait(nullptr, away_ ? away_wait : settings_.poll_interval);
  }
  const auto left = slots_.in_flight() + unsettled_.size() + unreleased_.size();
  if (left > 0)
    log_.warning("stopped without settling everything: it is attempted again after its lease",
                 {{"deliveries", left}});
  log_.info("stopped");
}

}  // namespace dispatcher
