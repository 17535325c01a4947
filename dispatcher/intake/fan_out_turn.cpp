// The fan-out of a batch: read and judged without a lock, written in one short transaction.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "dispatcher/intake/intake.hpp"
#include "dispatcher/schedule/waits.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/webhook/limits.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr unsigned rows_per_batch = 256;
constexpr unsigned entities_per_batch = 64;  // of those that take turns: each costs a seek
constexpr unsigned rows_per_turn = 4;        // at least, if it has them
constexpr unsigned entities_ahead = 16;
constexpr unsigned rows_ahead = 16;           // of each
constexpr unsigned entities_with_large = 16;  // one row each: as many as make a batch of bytes_per_batch
constexpr unsigned rows_of_suspect = 8;       // of one entity: each may cost two transactions
constexpr unsigned rows_past_locks = 64;
constexpr auto longest_isolation = 50ms;  // of a batch: beyond that its entities are taken one by one

struct Row {
  delivery::NotificationId id;
  delivery::EntityId entity;
};

template <class Notifications>
std::vector<delivery::NotificationId> ids_of(const Notifications& notifications) {
  std::vector<delivery::NotificationId> ids;
  ids.reserve(notifications.size());
  for (const auto& notification : notifications) ids.push_back(notification.id);
  return ids;
}

void rest_paused(const PausedParts& paused, std::map<delivery::EntityId, store::Recipient>& recipients) {
  const auto now = monotonic_now();
  for (auto& [entity, recipient] : recipients) {
    for (auto& subscriber : recipient.webhooks) {
      const auto& [webhook, url, secret, previous] = subscriber.target;
      if (paused.left(entity, webhook, url, now).count() > 0) subscriber.resting = true;
    }
  }
}

std::vector<delivery::EntityId> entities_of(const std::vector<JudgedNotification>& notifications) {
  std::set<delivery::EntityId> entities;
  for (const auto& notification : notifications) entities.insert(notification.entity);
  return {entities.begin(), entities.end()};
}

/// Of a part that follows others of its batch: none overtakes one of its entity that was left.
std::vector<JudgedNotification> without_waiting(const std::vector<JudgedNotification>& part,
                                                const std::set<delivery::EntityId>& busy,
                                                const std::set<delivery::EntityId>& locked) {
  if (busy.empty() && locked.empty()) return part;
  std::vector<JudgedNotification> result;
  std::ranges::copy_if(part, std::back_inserter(result), [&](const auto& notification) {
    return !busy.contains(notification.entity) && !locked.contains(notification.entity);
  });
  return result;
}

void append_created(LeasedBatch& into, const std::vector<store::CreatedDelivery>& created,
                    const std::vector<JudgedNotification>& notifications,
                    const std::map<delivery::EntityId, store::Recipient>& recipients, std::uint64_t lease) {
  const auto now = monotonic_now();  // they have been locked until now
  for (const auto& [id, recipient] : recipients) {
    for (const auto& subscriber : recipient.webhooks) {
      into.destinations.insert_or_assign(
          subscriber.target.webhook,
          LeasedBatch::Destination{subscriber.target, webhook::host_and_port(subscriber.target.url), now});
    }
  }
  std::map<delivery::NotificationId, const JudgedNotification*> by_id;
  for (const auto& notification : notifications) by_id.emplace(notification.id, &notification);
  for (const auto& delivery : created) {
    const auto& notification = *by_id.at(delivery.notification);
    into.deliveries.push_back({.id = delivery.id,
                               .webhook = delivery.webhook,
                               .notification = notification.id,
                               .entity = notification.entity,
                               .lease = lease,
                               .event = *notification.event,
                               .occurred = *notification.occurred,
                               .created = delivery.created,
                               .data = notification.data});
  }
}

}  // namespace

struct Intake::Batch {
  std::vector<Row> rows;  // all that were found, by id within an entity
  std::vector<store::TakeRequest> requests;
  ReadyEntities::Pick pick = ReadyEntities::Pick::ready;  // of the requests
  std::set<delivery::EntityId> with_left, with_large, without_room;
  std::vector<JudgedNotification> judged;  // what is to be fanned out

  // What became of them.
  std::set<delivery::NotificationId> passed;  // done, left, refused, or somebody else's
  std::set<delivery::EntityId> busy, locked, put_off, refused;
  std::set<delivery::EntityId> stopped;  // of those locked: by what only writing meets

  void note(ReadyEntities& entities) const;
};

/// Since a part was refused, parts of it are tried until then.
struct Intake::Turn {
  FairSlots& slots;
  Ahead ahead;
  std::optional<platform::MonotonicTime> isolate_until{};
};

/// Tells the ready set how far each entity was fanned out: up to the first one that was not passed.
void Intake::Batch::note(ReadyEntities& entities) const {
  struct Way {
    delivery::NotificationId last = 0;
    unsigned found = 0;
    bool stopped = false;
  };
  std::map<delivery::EntityId, Way> ways;
  for (const auto& row : rows) {
    auto& way = ways[row.entity];
    ++way.found;
    way.stopped = way.stopped || !passed.contains(row.id);
    if (!way.stopped) way.last = row.id;
  }
  for (const auto& [entity, way] : ways) {
    if (!refused.contains(entity)) entities.note_left(entity, with_left.contains(entity));
    if (way.last > 0) entities.advance(entity, way.last);
  }
  std::optional<delivery::EntityId> first_left;
  for (const auto& request : requests) {
    const auto& way = ways[request.entity];
    if (!way.stopped && way.found < request.limit) entities.finished(request.entity);
    const bool waits = busy.contains(request.entity) || locked.contains(request.entity);
    if (way.stopped && !waits && !first_left) first_left = request.entity;
  }
  if (first_left) entities.resume_at(pick, *first_left);
  for (const auto& [entity, way] : ways) {
    if (without_room.contains(entity) || !with_large.contains(entity))
      entities.note_large(entity, without_room.contains(entity));
  }
  for (const auto entity : busy) entities.mark_busy(entity);
  for (const auto entity : put_off) entities.suspect(entity);
  for (const auto entity : locked) entities.postpone(entity, monotonic_now() + locked_wait);
}

void Intake::fan_out(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into) {
  const unsigned rows = std::min(slots.free(), rows_per_batch);
  if (rows == 0) return;
  auto& entities = scanner.entities();
  const auto now = monotonic_now();
  const auto in_turns = static_cast<unsigned>(entities.count(Pick::ready, now));
  const bool nothing_else = in_turns == 0 && entities.line(1).empty();
  if (entities.count(Pick::large, now) > 0 && (nothing_else || large_pacer_.due(now))) {
    auto requests = entities.next(Pick::large, std::min(rows, entities_with_large), 1, now);
    fan_out(session, scanner, read_batch(session, {}, Pick::large, std::move(requests)), slots, Ahead::no,
            into);
    return large_pacer_.ran(now, monotonic_now(), 0ms, 1s);
  }
  turns_first_ = !turns_first_;
  const auto line = entities.line(in_turns == 0 ? rows : (rows + (turns_first_ ? 0 : 1)) / 2);
  const unsigned rest = rows - static_cast<unsigned>(line.size());
  std::vector<store::TakeRequest> requests;
  if (rest > 0 && in_turns > 0) {
    const auto most = std::min(in_turns, std::clamp(rest / rows_per_turn, 1U, entities_per_batch));
    // No more of one entity than its webhooks could ever have in flight.
    const auto each =
        std::clamp(rest / most, 1U, webhook::max_webhooks_per_entity * settings_.max_in_flight_per_webhook);
    requests = entities.next(Pick::ready, most, each, now);
  }
  if (line.empty() && requests.empty()) return;
  fan_out(session, scanner, read_batch(session, line, Pick::ready, std::move(requests)), slots, Ahead::no,
          into);
}

void Intake::fan_out_ahead(store::Session& session, QueueScanner& scanner, FairSlots& slots,
                           LeasedBatch& into) {
  const auto start = monotonic_now();
  const auto take = [&](Pacer& pacer, Pick pick, unsigned entities, unsigned rows) {
    if (!pacer.due(start)) return false;
    auto requests = scanner.entities().next(pick, entities, rows, start);
    if (requests.empty()) return false;
    fan_out(session, scanner, read_batch(session, {}, pick, std::move(requests)), slots, Ahead::yes, into);
    pacer.ran(start, monotonic_now(), 0ms, 1s);
    return true;
  };
  // One batch at a time: a second one would not know of the slots that the first one takes. The suspects
  // first: their share is spent rarely, and busy ones there are always.
  if (!take(suspect_pacer_, Pick::suspect, 1, rows_of_suspect))
    take(busy_pacer_, Pick::busy, entities_ahead, rows_ahead);
}

Intake::Batch Intake::read_batch(store::Session& session, const std::vector<store::NewNotification>& line,
                                 Pick pick, std::vector<store::TakeRequest> requests) {
  Batch batch;
  batch.pick = pick;
  auto in_line = store::read_pending(session, ids_of(line));
  auto in_turns = store::find_oldest_pending(session, requests);
  batch.requests = std::move(requests);
  for (const auto& [id, entity] : line) {
    batch.rows.push_back({id, entity});
    batch.passed.insert(id);  // unless it is still pending
  }
  for (const auto& notification : in_line) batch.passed.erase(notification.id);
  for (const auto& notification : in_turns) batch.rows.push_back({notification.id, notification.entity});
  // With slots for a part of them only, both begin in turn.
  auto& first = turns_first_ ? in_turns : in_line;
  auto& second = turns_first_ ? in_line : in_turns;
  std::ranges::move(second, std::back_inserter(first));
  const auto leave = [&](const std::vector<store::PendingNotification>& notifications) {
    for (const auto& notification : notifications) {
      batch.passed.insert(notification.id);
      batch.with_left.insert(notification.entity);
      if (notification.fanned_out) locked_.fanned_out(notification.id, monotonic_now());
    }
  };
  leave(store::leave_quarantined(first));
  const auto left = store::leave_to_newer(session, first);
  leave(left);
  report_left("notifications", left.size());
  for (const auto& notification : first) {
    if (!notification.data) batch.with_large.insert(notification.entity);
  }
  for (const auto& notification : cut_batch(first)) batch.without_room.insert(notification.entity);
  store::read_data(session, first);
  for (auto& notification : first) batch.judged.push_back(judge(std::move(notification)));
  return batch;
}

void Intake::fan_out(store::Session& session, QueueScanner& scanner, Batch batch, FairSlots& slots,
                     Ahead ahead, LeasedBatch& into) {
  fan_out_batch(session, scanner, batch, slots, ahead, into);
  batch.note(scanner.entities());
}

void Intake::fan_out_batch(store::Session& session, QueueScanner& scanner, Batch& batch, FairSlots& slots,
                           Ahead ahead, LeasedBatch& into) {
  into.leased_at = monotonic_now();
  Turn turn{slots, ahead};
  store::isolate(
      batch.judged,
      [&](const std::vector<JudgedNotification>& part) {
        take_part(session, scanner, part, batch, turn, into);
      },
      [&](const JudgedNotification& notification, const store::Refused& error) {
        batch.passed.insert(notification.id);
        batch.refused.insert(notification.entity);
        batch.put_off.insert(notification.entity);
        blamed(session, scanner.entities(), notification, error);
      });
  for (const auto& notification : batch.judged) {
    if (batch.stopped.contains(notification.entity) && !batch.passed.contains(notification.id))
      locked_.found({notification.id, notification.entity}, monotonic_now());
  }
  into.worked = into.worked || !batch.passed.empty();
}

/// What waits for a lock that no row tells of (a gap, of a session at REPEATABLE READ) is found by halves,
/// too.
void Intake::take_part(store::Session& session, QueueScanner& scanner,
                       const std::vector<JudgedNotification>& part, Batch& batch, Turn& turn,
                       LeasedBatch& into) {
  if (part.empty()) return;
  if (turn.isolate_until && monotonic_now() > *turn.isolate_until) {
    for (const auto& notification : part) batch.put_off.insert(notification.entity);
    return;
  }
  const auto isolate_from_now = [&] {
    if (!turn.isolate_until) turn.isolate_until = monotonic_now() + longest_isolation;
  };
  try {
    fan_out_part(session, scanner, without_waiting(part, batch.busy, batch.locked), batch, turn, into);
  } catch (const store::DuplicateKey&) {  // fanned out past a lock since it was read
    isolate_from_now();
    halve(session, scanner, part, batch, turn, into);
  } catch (const store::Refused&) {
    isolate_from_now();
    throw;
  } catch (const store::LockTimeout&) {
    isolate_from_now();
    halve(session, scanner, part, batch, turn, into);
  }
}

void Intake::halve(store::Session& session, QueueScanner& scanner,
                   const std::vector<JudgedNotification>& part, Batch& batch, Turn& turn, LeasedBatch& into) {
  if (part.size() == 1) {
    batch.locked.insert(part.front().entity);
    batch.stopped.insert(part.front().entity);  // by a lock on an entry of an index, say
    return;
  }
  const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
  take_part(session, scanner, {part.begin(), middle}, batch, turn, into);
  take_part(session, scanner, {middle, part.end()}, batch, turn, into);
}

void Intake::fan_out_part(store::Session& session, QueueScanner& scanner,
                          const std::vector<JudgedNotification>& part, Batch& batch, Turn& turn,
                          LeasedBatch& into) {
  const auto lease = new_lease();
  std::set<delivery::NotificationId> held;
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  std::optional<Grants> grants;
  const auto created = store::transaction(session, [&] {
    held = store::lock_pending(session, ids_of(part));
    recipients = store::load_recipients(session, entities_of(part));
    rest_paused(scanner.paused_parts(), recipients);
    grants.emplace(turn.slots);
    plan = plan_fan_out(part, held, recipients, *grants, turn.ahead);
    return store::write_fan_out(session, plan.fan_out, lease);
  });
  into.grants.add(std::move(*grants));
  for (const auto& notification : part) {
    if (held.contains(notification.id)) continue;
    batch.passed.insert(notification.id);
    locked_.found({notification.id, notification.entity}, monotonic_now());
  }
  for (const auto id : plan.fan_out.processed) batch.passed.insert(id);
  for (const auto& rejected : plan.fan_out.rejected) batch.passed.insert(rejected.id);
  batch.busy.merge(plan.busy);
  batch.locked.merge(plan.locked);
  for (const auto& delivery : plan.fan_out.deliveries) {
    if (delivery.state == delivery::DeliveryState::pending)
      scanner.webhooks().waits(delivery.webhook, into.leased_at);
  }
  append_created(into, created, part, recipients, lease.token);
  report(plan.fan_out);
  quarantine_.passed(plan.fan_out);
}

void Intake::fan_out_locked(store::Session& session, QueueScanner& scanner, FairSlots& slots,
                            LeasedBatch& into) {
  finish_fanned_out(session);
  const auto now = monotonic_now();
  const auto locked = locked_.take_locked(now, rows_past_locks);
  // One batch at a time: a second one would not know of the slots that the first one takes.
  if (locked.empty()) return retry_locked(session, scanner, slots, into);
  auto batch = read_batch(session, locked, Pick::ready, {});
  std::erase_if(batch.judged, [&](const auto& one) { return scanner.entities().suspected(one.entity); });
  into.leased_at = now;
  Turn turn{slots, Ahead::yes, now + longest_isolation};
  store::isolate(
      batch.judged,
      [&](const std::vector<JudgedNotification>& part) {
        take_part_past_locks(session, scanner, part, turn, into);
      },
      [&](const JudgedNotification& notification, const store::Refused& error) {
        log_.info("a locked notification waits for its lock",
                  {{"notification", notification.id}, {"error", error.what()}});
      });
}

/// As those in turn, but that they tell nothing of the others of their entities.
void Intake::retry_locked(store::Session& session, QueueScanner& scanner, FairSlots& slots,
                          LeasedBatch& into) {
  const auto retries = locked_.take_retries(monotonic_now(), rows_past_locks);
  if (retries.empty()) return;
  auto batch = read_batch(session, retries, Pick::ready, {});
  try {
    fan_out_batch(session, scanner, batch, slots, Ahead::yes, into);
  } catch (...) {
    locked_.end_retries();
    throw;
  }
  locked_.end_retries();
  for (const auto entity : batch.put_off) scanner.entities().suspect(entity);
}

/// What waits for another lock is found by halves.
void Intake::take_part_past_locks(store::Session& session, QueueScanner& scanner,
                                  const std::vector<JudgedNotification>& part, Turn& turn,
                                  LeasedBatch& into) {
  const auto again = [&] {
    for (const auto& notification : part)
      locked_.found({notification.id, notification.entity}, monotonic_now());
  };
  if (monotonic_now() > *turn.isolate_until) return again();
  try {
    fan_out_past_locks(session, scanner, part, turn.slots, into);
  } catch (const store::LockTimeout&) {
    if (part.size() == 1) return again();
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    take_part_past_locks(session, scanner, {part.begin(), middle}, turn, into);
    take_part_past_locks(session, scanner, {middle, part.end()}, turn, into);
  }
}

void Intake::fan_out_past_locks(store::Session& session, QueueScanner& scanner,
                                const std::vector<JudgedNotification>& part, FairSlots& slots,
                                LeasedBatch& into) {
  const auto lease = new_lease();
  const auto ids = ids_of(part);
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  std::optional<Grants> grants;
  const auto created = store::transaction(session, [&] {
    recipients = store::load_recipients(session, entities_of(part));
    rest_paused(scanner.paused_parts(), recipients);
    grants.emplace(slots);
    plan = plan_fan_out(part, {ids.begin(), ids.end()}, recipients, *grants, Ahead::yes);
    return store::write_fan_out_past_locks(session, plan.fan_out, lease);
  });
  into.grants.add(std::move(*grants));
  for (const auto& delivery : plan.fan_out.deliveries) {
    locked_.fanned_out(delivery.notification, into.leased_at);
    if (delivery.state == delivery::DeliveryState::pending)
      scanner.webhooks().waits(delivery.webhook, into.leased_at);
  }
  append_created(into, created, part, recipients, lease.token);
  metrics_.processed.add(plan.fan_out.processed.size());
  into.worked = true;
}

void Intake::finish_fanned_out(store::Session& session) {
  const auto now = monotonic_now();
  const auto ids = locked_.take_unfinished(now, rows_per_batch);
  if (ids.empty()) return;
  store::isolate(
      ids,
      [&](const std::vector<delivery::NotificationId>& part) {
        for (const auto id : store::finish_fan_out_past_locks(session, part)) locked_.fanned_out(id, now);
      },
      [](delivery::NotificationId, const store::Refused&) {});  // the list goes on saying that it is done
}

void Intake::blamed(store::Session& session, ReadyEntities& entities, const JudgedNotification& notification,
                    const store::Refused& error) {
  entities.note_refused(notification.entity);
  quarantine_.blamed(session, notification.entity, notification.id, error);
}

void Intake::report(const store::FanOut& fan_out) const {
  for (const auto& [id, reason] : fan_out.rejected)
    log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  metrics_.processed.add(fan_out.processed.size());
  metrics_.rejected.add(fan_out.rejected.size());
}

}  // namespace dispatcher
