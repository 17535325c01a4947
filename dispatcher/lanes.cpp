#include "lanes.hpp"

#include <algorithm>
#include <iterator>

namespace dispatcher {

namespace {

constexpr platform::Milliseconds stalled_after{1000};
constexpr platform::Milliseconds between_connections{20};  // of one lane
constexpr platform::Milliseconds least_handshake{10};      // an average beyond these is taken for them
constexpr platform::Milliseconds most_handshake{100};
constexpr double handshakes_worth = 2;

/// An average that forgets: each new value counts for an eighth.
template <class Average>
void learn(Average& average, platform::Milliseconds value) {
  average += (Average(value) - average) / 8;
}

}  // namespace

std::optional<Request> Lanes::add(Request request, platform::MonotonicTime now) {
  const auto lane = lanes_.try_emplace(request.delivery.webhook).first;
  auto& [active, idle, waiting, answer, progress, opened, overdue] = lane->second;
  if (active == 0) progress = opened = now;
  waiting.push_back(std::move(request));
  ++requests_;
  if (waiting.size() == 1) {
    if (active == 0 || idle > 0) return start_next(lane, now);
  } else {
    stop_waiting(lane);
  }
  wait_from(lane, now);
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
  const auto lane = lanes_.find(webhook);
  if (lane == lanes_.end()) return;
  learn(lane->second.answer, took);
  lane->second.progress = now;
}

bool Lanes::stalled(const Lane& lane, platform::MonotonicTime now) {
  return now - lane.progress >= stalled_after;
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

/// An answer takes as long as the last few, or as nothing has come: from when on are those that wait worth a
/// connection?
void Lanes::wait_from(LaneMap::iterator lane, platform::MonotonicTime now) {
  auto& [active, idle, waiting, answer, progress, opened, overdue] = lane->second;
  const auto handshake = std::clamp<Average>(handshake_, least_handshake, most_handshake);
  const auto slow = handshake * handshakes_worth * std::max(active, 1U) / static_cast<double>(waiting.size());
  overdue = answer >= slow ? now : progress + std::chrono::ceil<platform::Milliseconds>(slow);
  overdue = std::max(overdue, opened + between_connections);
  overdue_.emplace(overdue, lane->first);
}

void Lanes::stop_waiting(LaneMap::iterator lane) { overdue_.erase({lane->second.overdue, lane->first}); }

Request Lanes::start_next(LaneMap::iterator lane, platform::MonotonicTime now) {
  auto& [active, idle, waiting, answer, progress, opened, overdue] = lane->second;
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
