#include "dispatcher/scan/queue_scanner.hpp"

#include <algorithm>
#include <utility>

#include "dispatcher/schedule/id_ranges.hpp"
#include "lib/store/backlog/pauses.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;
using platform::monotonic_now;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned masses = 1000;               // new notifications read at once
constexpr unsigned worth_reading = masses / 4;  // if fewer are news to the ready set, the search takes over
/// At most so much of what a look spends on reading new notifications does not delay the next look.
constexpr auto free_reading = 1ms;
constexpr auto pause_interval = 1s;  // between reads of the pauses while looks are slow
constexpr auto rest_after = 5s;      // after this time without work, looks become rarer
constexpr auto slice = 10ms;         // after this a search pauses, so that deliveries do not wait for it
// How often entities and webhooks are read from their first row again, to find rows committed late.
constexpr auto look_again_interval = 5s;

/// Searches `ranges` from the back, until none is left or `may_continue` returns false. `search` returns the
/// ranges that it did not finish.
template <class MayContinue, class Search>
void search_ranges(std::vector<store::IdRange>& ranges, MayContinue&& may_continue, Search&& search) {
  while (!ranges.empty() && may_continue()) {
    halve_widest(ranges, store::ranges_per_search);
    const auto count = std::min(ranges.size(), store::ranges_per_search);
    const std::vector<store::IdRange> batch(ranges.end() - static_cast<std::ptrdiff_t>(count), ranges.end());
    const std::vector<store::IdRange> rest = search(batch);
    ranges.resize(ranges.size() - count);
    ranges.insert(ranges.end(), rest.begin(), rest.end());
  }
}

/// Returns the part of each range after the webhook found in it.
std::vector<store::IdRange> rest_of(const std::vector<store::IdRange>& ranges,
                                    const std::vector<store::WaitingWebhook>& found) {
  std::vector<store::IdRange> rest;
  for (const auto& webhook : found) {
    for (const auto& range : ranges) {
      if (range.first <= webhook.id && webhook.id < range.last)
        rest.push_back({webhook.id.next().number(), range.last});
    }
  }
  return rest;
}

}  // namespace

QueueScanner::QueueScanner(const config::DeliverySettings& settings, ReadySet& ready)
    : ready_(ready), poll_interval_(settings.poll_interval), look_interval_(settings.poll_interval) {}

void QueueScanner::look(store::Session& session, MonotonicTime now, bool idle) {
  if (!pacer_.due(now)) {
    // A pause takes effect even while looks are slow, for example because a session holds an old snapshot
    // open.
    if (now >= next_pause_check_) check_pause(session, now);
    if (reads_on()) read_new(session);
    return;
  }
  const auto peek = store::peek_queue(session);
  ready_.asked_diagnoses = peek.asked_diagnoses;
  if (peek.pauses || ready_.paused || ready_.paused_parts.any()) check_pause(session, now);
  next_pause_check_ = now + pause_interval;
  const auto peeked = monotonic_now();
  const bool new_ones = !ready_.paused && find_new(session, peek);
  const auto start = monotonic_now();
  if (peek.pending_notifications || peek.pending_deliveries || !idle) rests_from_ = start + rest_after;
  const auto free = new_ones ? std::min<MonotonicTime::duration>(start - peeked, free_reading) : 0ms;
  const auto counted = std::min(look_interval_.counted(start - now), start - now - free);
  pacer_.ran(start - counted, start, interval(new_ones, start), 4 * poll_interval_);
  if (ready_.paused) return;
  search(session, peek, idle);
}

/// A search that found something but did not reach the end of its ranges goes on at once if the loop is idle.
/// The search for entities also goes on at once while few notifications are in line
/// (ReadyEntities::runs_short).
void QueueScanner::search(store::Session& session, const store::QueuePeek& peek, bool idle) {
  const auto start = monotonic_now();
  if (start >= next_look_again_) {
    ready_.entities.look_again();
    ready_.webhooks.look_again();
    next_look_again_ = start + look_again_interval;
  }
  if (peek.pending_notifications && entity_pacer_.due(start)) {
    const bool more = search_entities(session);
    entity_pacer_.ran(start, monotonic_now(), poll_interval_, 1s);
    if (more && (idle || ready_.entities.runs_short())) pacer_ = entity_pacer_ = Pacer(share);
  }
  const auto second = monotonic_now();
  if (peek.pending_deliveries && webhook_pacer_.due(second)) {
    const bool more = search_webhooks(session);
    webhook_pacer_.ran(second, monotonic_now(), poll_interval_, 1s);
    if (more && idle) pacer_ = webhook_pacer_ = Pacer(share);
  }
}

Milliseconds QueueScanner::interval(bool new_ones, MonotonicTime now) {
  if (new_ones) return look_interval_.after_new(more_new_ || missed_some_);
  return now < rests_from_ ? look_interval_.after_none() : look_interval_.longest();
}

void QueueScanner::check_pause(store::Session& session, MonotonicTime now) {
  auto pauses = store::read_pauses(session);
  ready_.paused = pauses.everything;
  for (const auto webhook : ready_.paused_parts.update(std::move(pauses.parts), now))
    ready_.webhooks.postpone(webhook, now);
  next_pause_check_ = now + pause_interval;
}

/// Finds nearly all new notifications, by their ids. The search finds the others: those written before the
/// first look, those skipped because a few entities have very many, those passed over because they were not
/// committed, and rows committed late.
bool QueueScanner::find_new(store::Session& session, const store::QueuePeek& peek) {
  // A row may appear between the two parts of a look: only the ids of the look before are known to be done.
  const auto known = std::exchange(newest_seen_, peek.newest);
  if (!newest_) skip_to(peek.newest);
  if (!peek.pending_notifications) {
    newest_ = std::max(*newest_, known);
    missed_some_ = more_new_ = false;
    return false;
  }
  return *newest_ < peek.newest && ready_.entities.has_room() && read_new(session);
}

/// Reads on for a moment while it finds none of an entity that exists: many others may come before the first.
bool QueueScanner::read_new(store::Session& session) {
  const auto until = monotonic_now() + slice;
  bool any = false;
  bool reachable = false;
  do {
    const auto found = store::find_new_notifications(session, *newest_, newest_seen_, masses);
    unsigned told = 0;
    for (const auto& notification : found.pending) {
      const bool news = missed_some_ ? ready_.entities.appeared(notification.entity)
                                     : ready_.entities.arrived(notification);
      if (news) ++told;
      const bool wrong = found.unreachable.contains(notification.entity);
      if (wrong) ready_.entities.mark(notification.entity, ReadyEntities::Kind::wrong, true);
      reachable = reachable || !wrong;
      any = true;
    }
    newest_ = found.last;
    more_new_ = found.full || found.passed_over;
    if (found.full && told < worth_reading) skip_to(std::max(newest_seen_, found.last));
  } while (more_new_ && !reachable && ready_.entities.has_room() && monotonic_now() < until);
  return any;
}

void QueueScanner::skip_to(delivery::NotificationId newest) {
  newest_ = newest;
  missed_some_ = true;
  more_new_ = search_covers_missed_ = false;
  ready_.entities.missed_some();
}

/// Searches some ranges. Returns true if it told the ready set of entities something new, but did not reach
/// the end of the ranges.
bool QueueScanner::search_entities(store::Session& session) {
  if (entity_ranges_.empty()) {
    entity_ranges_ = ready_.entities.ranges();
    search_covers_missed_ = true;
  }
  bool found = false;
  const auto until = monotonic_now() + slice;
  search_ranges(
      entity_ranges_, [&] { return monotonic_now() < until && ready_.entities.has_room_for_search(); },
      [&](const auto& ranges) {
        auto waiting = find_waiting_entities(session, ranges);
        for (const auto& entity : waiting.found) {
          found = ready_.entities.found(entity) || found;
          if (entity.unreachable) ready_.entities.mark(entity.id, ReadyEntities::Kind::wrong, true);
        }
        return std::move(waiting.rest);
      });
  if (entity_ranges_.empty() && search_covers_missed_) missed_some_ = false;
  return found && !entity_ranges_.empty();
}

/// Searches some ranges. Returns true if it found a webhook with a due delivery, but did not reach the end of
/// the ranges.
bool QueueScanner::search_webhooks(store::Session& session) {
  if (webhook_ranges_.empty()) webhook_ranges_ = ready_.webhooks.ranges(monotonic_now());
  bool found = false;
  const auto until = monotonic_now() + slice;
  search_ranges(
      webhook_ranges_, [&] { return monotonic_now() < until; },
      [&](const auto& ranges) {
        const auto waiting = find_waiting_webhooks(session, ranges);
        for (const auto& webhook : waiting) {
          ready_.webhooks.found(webhook, monotonic_now());
          found = found || webhook.until <= 0ms;
        }
        return rest_of(ranges, waiting);
      });
  return found && !webhook_ranges_.empty();
}

}  // namespace dispatcher
