#include "lanes.hpp"

#include <algorithm>
#include <iterator>

namespace dispatcher {

namespace {

constexpr platform::Milliseconds least_patience{20};
constexpr platform::Milliseconds stalled_after{1000};
constexpr double usual_answers = 3;  // that an answer may take before it is not a usual one

/// An average that forgets: each new value counts for an eighth.
template <class Average>
void learn(Average& average, platform::Milliseconds value) {
  average += (Average(value) - average) / 8;
}

}  // namespace

std::optional<Request> Lanes::add(Request request, platform::MonotonicTime now) {
  const auto lane = lanes_.try_emplace(request.delivery.webhook).first;
  auto& [active, idle, waiting, overdue, progress] = lane->second;
  if (active == 0) progress = now;
  waiting.push_back(std::move(request));
  ++requests_;
  if (waiting.size() == 1) {
    if (active == 0 || idle > 0) return start_next(lane, now);
    wait_from(lane, now);
  }
  return std::nullopt;
}

std::optional<Request> Lanes::ended(store::WebhookId webhook, bool kept, platform::MonotonicTime now) {
  const auto lane = lanes_.find(webhook);
  if (lane == lanes_.end()) return std::nullopt;
  --lane->second.active;
  --requests_;
  if (kept) ++lane->second.idle;
  if (!lane->second.waiting.empty()) return start_next(lane, now);
  forget_if_done(lane);
  return std::nullopt;
}

void Lanes::connection_made(platform::Milliseconds took) { learn(handshake_, took); }
void Lanes::answered(store::WebhookId webhook, platform::Milliseconds took, platform::MonotonicTime now) {
  learn(answer_, took);
  if (const auto lane = lanes_.find(webhook); lane != lanes_.end()) lane->second.progress = now;
}

bool Lanes::stalled(const Lane& lane, platform::MonotonicTime now) {
  return now - lane.progress >= stalled_after;
}

platform::Milliseconds Lanes::patience() const {
  const auto learnt = std::max(handshake_, answer_ * usual_answers);
  return std::max(least_patience, std::chrono::round<platform::Milliseconds>(learnt));
}

std::vector<Request> Lanes::drop(store::WebhookId webhook) {
  const auto lane = lanes_.find(webhook);
  return lane == lanes_.end() ? std::vector<Request>() : drop(lane);
}

std::vector<Request> Lanes::drop_all() {
  std::vector<Request> result;
  while (!overdue_.empty()) {
    auto dropped = drop(lanes_.find(overdue_.begin()->second));
    result.insert(result.end(), std::make_move_iterator(dropped.begin()),
                  std::make_move_iterator(dropped.end()));
  }
  return result;
}

std::optional<platform::MonotonicTime> Lanes::next_overdue() const {
  return overdue_.empty() ? std::nullopt : std::optional(overdue_.begin()->first);
}

void Lanes::wait_from(LaneMap::iterator lane, platform::MonotonicTime now) {
  lane->second.overdue = now + patience();
  overdue_.emplace(lane->second.overdue, lane->first);
}

void Lanes::stop_waiting(LaneMap::iterator lane) { overdue_.erase({lane->second.overdue, lane->first}); }

Request Lanes::start_next(LaneMap::iterator lane, platform::MonotonicTime now) {
  auto& [active, idle, waiting, overdue, progress] = lane->second;
  Request request = std::move(waiting.front());
  waiting.pop_front();
  ++active;
  if (idle > 0) --idle;
  stop_waiting(lane);
  if (!waiting.empty()) wait_from(lane, now);
  return request;
}

/// One connection is what a lane begins with: nothing to remember.
void Lanes::forget_if_done(LaneMap::iterator lane) {
  if (lane->second.active == 0 && lane->second.waiting.empty() && lane->second.idle <= 1) lanes_.erase(lane);
}

std::vector<Request> Lanes::drop(LaneMap::iterator lane) {
  stop_waiting(lane);
  auto& waiting = lane->second.waiting;
  std::vector<Request> result(std::make_move_iterator(waiting.begin()),
                              std::make_move_iterator(waiting.end()));
  waiting.clear();
  requests_ -= result.size();
  forget_if_done(lane);
  return result;
}

}  // namespace dispatcher
