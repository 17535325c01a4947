#include "dispatcher/fan_out/rejections.hpp"

#include "lib/store/session/isolate.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using store::RejectedNotification;

/// After so many locked or refused rows the rest of a batch is left for later: a search for each further one
/// would keep the session from other work.
constexpr unsigned most_failures = 8;

}  // namespace

void Rejections::reject(store::Session& session, const std::vector<RejectedNotification>& rejected,
                        Outcomes& outcomes) {
  if (rejected.empty()) return;
  unsigned failures = 0;
  std::uint64_t done = 0;
  delivery::NotificationId tried = 0;  // the first row of the last statement
  const auto write = [&](const std::vector<RejectedNotification>& some) {
    if (failures < most_failures) {
      tried = some.front().id;
      done += store::reject_notifications(session, some);
      return;
    }
    // One of them counts as locked, so that the others come before it at the next try.
    for (const auto& one : some) outcomes[one.id] = one.id == tried ? Outcome::row_locked : Outcome::untried;
  };
  const auto fail = [&](const RejectedNotification& one, const store::DatabaseError& error) {
    ++failures;
    outcomes[one.id] = store::is_refused(error) ? Outcome::refused : Outcome::row_locked;
    if (const auto* refused = dynamic_cast<const store::Refused*>(&error)) count_refused(one.id, *refused);
  };
  const auto concerns_one = [&](const store::DatabaseError& error) {
    // MySQL waits a second for each lock, so there the first one ends the search.
    if (store::is_lock_timeout(error) && !session.is_mariadb()) failures = most_failures;
    return store::is_refused(error) || store::is_lock_timeout(error);
  };
  store::isolate(rejected, write, fail, concerns_one);
  count(done, rejected.front());
}

void Rejections::blamed(store::Session& session, const store::NotificationKey& notification,
                        const store::Refused& error) {
  const auto& [id, entity] = notification;
  if (!passed_over_.is_refused(id))
    log_.error("the database refuses to fan out a notification of an entity; the others go on",
               {{"task", "fan-out"}, {"entity", entity}, {"notification", id}, {"error", error.what()}});
  if (!passed_over_.reject_refused(notification, monotonic_now())) return;
  const RejectedNotification one{id, store::refusal_text(error)};
  try {
    count(store::reject_notifications(session, {one}), one);
  } catch (const store::Refused& again) {
    count_refused(id, again);
  } catch (const store::LockTimeout&) {  // it is refused, and tried, again
  }
}

void Rejections::count(std::uint64_t count, const RejectedNotification& one) {
  if (count == 0) return;
  metrics_.rejected.add(count);
  rejected_.add(count);
  example_ = one;
}

void Rejections::report(bool stopping) {
  const auto now = monotonic_now();
  if (const auto sum = rejected_.take_if_due(now, stopping))
    log_.warning("notifications rejected",
                 {{"notifications", *sum}, {"notification", example_.id}, {"reason", example_.reason}});
  if (const auto tries = not_rejected_.take_if_due(now, stopping))
    log_.error("the database refuses even to reject notifications; they are tried again",
               {{"tries", *tries}, {"notification", refused_.id}, {"error", refused_.reason}});
}

void Rejections::count_refused(delivery::NotificationId id, const store::Refused& error) {
  not_rejected_.add(1);
  refused_ = {id, error.what()};
}

}  // namespace dispatcher
