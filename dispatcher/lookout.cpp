#include "lookout.hpp"

namespace dispatcher {

namespace {

using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr auto slice = 10ms;              // of one look, so that nobody waits for it
constexpr auto look_again_interval = 5s;  // for what was committed late, below what is known

MonotonicTime monotonic_now() { return std::chrono::steady_clock::now(); }

/// Searches `gaps`, taking them from the back, until none is left or the time is up. What lies after each one
/// found is searched too.
template <class Search, class F>
void search_gaps(std::vector<store::Gap>& gaps, MonotonicTime until, Search&& search, F&& found) {
  while (!gaps.empty() && monotonic_now() < until) {
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

void Lookout::look(store::Session& session, MonotonicTime now) {
  if (!pacer_.due(now)) return;
  const auto glance = store::glance_at_queue(session);
  paused_ = glance.paused;
  if (!paused_) search(session, glance);
  pacer_.ran(now, monotonic_now());
}

void Lookout::search(store::Session& session, const store::QueueGlance& glance) {
  const auto now = monotonic_now();
  if (now >= next_look_again_) {
    entities_.look_again();
    webhooks_.look_again();
    next_look_again_ = now + look_again_interval;
  }
  if (glance.pending_notifications) {
    if (entity_gaps_.empty()) entity_gaps_ = entities_.gaps();
    search_gaps(
        entity_gaps_, now + slice, [&](const auto& gaps) { return find_waiting_entities(session, gaps); },
        [&](const auto& entity) { entities_.found(entity); });
  }
  if (glance.pending_deliveries) {
    if (webhook_gaps_.empty()) webhook_gaps_ = webhooks_.gaps(now);
    search_gaps(
        webhook_gaps_, monotonic_now() + slice,
        [&](const auto& gaps) { return find_waiting_webhooks(session, gaps); },
        [&](const auto& webhook) {
          webhooks_.found(webhook.id, webhook.first, monotonic_now() + webhook.until + 1ms);
        });
  }
}

}  // namespace dispatcher
