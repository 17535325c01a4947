#include "intake/queue_scanner.hpp"

#include "store/backlog/queue.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;
using platform::monotonic_now;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned masses = 1000;         // new notifications at a look
constexpr auto pause_interval = 1s;       // at most, between checks; at each look while something is pending
constexpr auto rest_after = 5s;           // of nothing to do; then a look costs more than it finds
constexpr auto slice = 10ms;              // of one look, so that nobody waits for it
constexpr auto look_again_interval = 5s;  // for what was committed late, below what is known

/// Searches `ranges`, taking them from the back, until none is left or the time is up. What lies after each
/// one found is searched too.
template <class Search, class F>
void search_ranges(std::vector<store::IdRange>& ranges, MonotonicTime until, Search&& search, F&& found) {
  while (!ranges.empty() && monotonic_now() < until) {
    halve_widest(ranges, store::ranges_per_search);
    const auto count = std::min(ranges.size(), store::ranges_per_search);
    const std::vector<store::IdRange> batch(ranges.end() - static_cast<std::ptrdiff_t>(count), ranges.end());
    const auto results = search(batch);
    ranges.resize(ranges.size() - count);
    for (const auto& result : results) {
      found(result);
      for (const auto& range : batch) {
        if (range.first <= result.id && result.id < range.last) ranges.push_back({result.id + 1, range.last});
      }
    }
  }
}

}  // namespace

void QueueScanner::look(store::Session& session, MonotonicTime now, bool idle) {
  if (!pacer_.due(now)) {
    // An emergency stop does not wait for what a look costs, with an old snapshot held open say.
    if (now >= next_pause_check_) check_pause(session, now);
    return;
  }
  const auto peek = store::peek_queue(session);
  const bool pending = peek.pending_notifications || peek.pending_deliveries;
  if (pending || now >= next_pause_check_) check_pause(session, now);
  const bool new_ones = !paused_ && peek.pending_notifications && find_new(session, peek.newest);
  const auto start = monotonic_now();
  if (pending || !idle) rests_from_ = start + rest_after;
  pacer_.ran(now, start, interval(new_ones, start), 4 * poll_interval_);
  if (paused_ || !search_pacer_.due(start)) return;
  const bool more = search(session, peek);
  search_pacer_.ran(start, monotonic_now(), poll_interval_, 1s);
  if (more && idle) pacer_ = search_pacer_ = Pacer(share);  // on at once: nobody else needs the time
}

/// Where something comes, more comes; where nothing has come for long, nothing does.
Milliseconds QueueScanner::interval(bool new_ones, MonotonicTime now) const {
  if (new_ones) return poll_interval_ / 4;
  return now < rests_from_ ? poll_interval_ : longest_interval(poll_interval_);
}

void QueueScanner::check_pause(store::Session& session, MonotonicTime now) {
  paused_ = store::is_paused(session);
  next_pause_check_ = now + pause_interval;
}

/// What has come since the last look, by its ids: nearly everything is found so. What was there before the
/// first look, what comes in masses, and what is committed late, is left to the search.
bool QueueScanner::find_new(store::Session& session, delivery::NotificationId newest) {
  bool any = false;
  if (newest_ && *newest_ < newest) {
    const auto found = store::find_new_notifications(session, *newest_, masses);
    for (const auto entity : found.entities) entities_.appeared(entity);
    newest = found.more ? newest : found.last;
    any = !found.entities.empty();
  }
  newest_ = newest;
  return any;
}

/// True when it found somebody who waits now, and was not through when its time was up.
bool QueueScanner::search(store::Session& session, const store::QueuePeek& peek) {
  const auto now = monotonic_now();
  bool found = false;
  if (now >= next_look_again_) {
    entities_.look_again();
    webhooks_.look_again();
    next_look_again_ = now + look_again_interval;
  }
  if (peek.pending_notifications) {
    if (entity_ranges_.empty()) entity_ranges_ = entities_.ranges();
    search_ranges(
        entity_ranges_, now + slice,
        [&](const auto& ranges) { return find_waiting_entities(session, ranges); },
        [&](const auto& entity) {
          entities_.found(entity);
          found = true;
        });
  }
  if (peek.pending_deliveries) {
    if (webhook_ranges_.empty()) webhook_ranges_ = webhooks_.ranges(now);
    search_ranges(
        webhook_ranges_, monotonic_now() + slice,
        [&](const auto& ranges) { return find_waiting_webhooks(session, ranges); },
        [&](const auto& webhook) {
          webhooks_.found(webhook, monotonic_now());
          found = found || webhook.until <= 0ms;
        });
  }
  return found && !(entity_ranges_.empty() && webhook_ranges_.empty());
}

}  // namespace dispatcher
