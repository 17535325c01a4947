#include "lookout.hpp"

#include "store/queue.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned masses = 1000;         // new notifications at a look
constexpr auto pause_interval = 1s;       // at most, between checks; at each look while something is pending
constexpr auto rest_after = 5s;           // of nothing to do; then a look costs more than it finds
constexpr auto slice = 10ms;              // of one look, so that nobody waits for it
constexpr auto look_again_interval = 5s;  // for what was committed late, below what is known

MonotonicTime monotonic_now() { return std::chrono::steady_clock::now(); }

/// Searches `gaps`, taking them from the back, until none is left or the time is up. What lies after each one
/// found is searched too.
template <class Search, class F>
void search_gaps(std::vector<store::Gap>& gaps, MonotonicTime until, Search&& search, F&& found) {
  while (!gaps.empty() && monotonic_now() < until) {
    halve_widest(gaps, store::gaps_per_search);
    const auto count = std::min(gaps.size(), store::gaps_per_search);
    const std::vector<store::Gap> batch(gaps.end() - static_cast<std::ptrdiff_t>(count), gaps.end());
    const auto results = search(batch);
    gaps.resize(gaps.size() - count);
    for (const auto& result : results) {
      found(result);
      for (const auto& gap : batch) {
        if (gap.first <= result.id && result.id < gap.last) gaps.push_back({result.id + 1, gap.last});
      }
    }
  }
}

}  // namespace

void Lookout::look(store::Session& session, MonotonicTime now, bool idle) {
  if (!pacer_.due(now)) {
    // An emergency stop does not wait for what a look costs, with an old snapshot held open say.
    if (now >= next_pause_check_) check_pause(session, now);
    return;
  }
  const auto glance = store::glance_at_queue(session);
  const bool pending = glance.pending_notifications || glance.pending_deliveries;
  if (pending || now >= next_pause_check_) check_pause(session, now);
  const bool new_ones = !paused_ && glance.pending_notifications && find_new(session, glance.newest);
  const auto start = monotonic_now();
  if (pending || !idle) rests_from_ = start + rest_after;
  pacer_.ran(now, start, interval(new_ones, start), 4 * poll_interval_);
  if (paused_ || !search_pacer_.due(start)) return;
  const bool more = search(session, glance);
  search_pacer_.ran(start, monotonic_now(), poll_interval_, 1s);
  if (more && idle) pacer_ = search_pacer_ = Pacer(share);  // on at once: nobody else needs the time
}

/// Where something comes, more comes; where nothing has come for long, nothing does.
Milliseconds Lookout::interval(bool new_ones, MonotonicTime now) const {
  if (new_ones) return poll_interval_ / 4;
  return now < rests_from_ ? poll_interval_ : longest_interval(poll_interval_);
}

void Lookout::check_pause(store::Session& session, MonotonicTime now) {
  paused_ = store::is_paused(session);
  next_pause_check_ = now + pause_interval;
}

/// What has come since the last look, by its ids: nearly everything is found so. What was there before the
/// first look, what comes in masses, and what is committed late, is left to the search.
bool Lookout::find_new(store::Session& session, store::NotificationId newest) {
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
bool Lookout::search(store::Session& session, const store::QueueGlance& glance) {
  const auto now = monotonic_now();
  bool found = false;
  if (now >= next_look_again_) {
    entities_.look_again();
    webhooks_.look_again();
    next_look_again_ = now + look_again_interval;
  }
  if (glance.pending_notifications) {
    if (entity_gaps_.empty()) entity_gaps_ = entities_.gaps();
    search_gaps(
        entity_gaps_, now + slice, [&](const auto& gaps) { return find_waiting_entities(session, gaps); },
        [&](const auto& entity) {
          entities_.found(entity);
          found = true;
        });
  }
  if (glance.pending_deliveries) {
    if (webhook_gaps_.empty()) webhook_gaps_ = webhooks_.gaps(now);
    search_gaps(
        webhook_gaps_, monotonic_now() + slice,
        [&](const auto& gaps) { return find_waiting_webhooks(session, gaps); },
        [&](const auto& webhook) {
          webhooks_.found(webhook, monotonic_now());
          found = found || webhook.until <= 0ms;
        });
  }
  return found && !(entity_gaps_.empty() && webhook_gaps_.empty());
}

}  // namespace dispatcher
