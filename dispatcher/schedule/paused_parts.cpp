#include "dispatcher/schedule/paused_parts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/webhook/target_url.hpp"

namespace dispatcher {

using platform::Milliseconds;

std::vector<delivery::WebhookId> PausedParts::update(std::vector<store::Pause> pauses,
                                                     platform::MonotonicTime now) {
  const bool changed = pauses != pauses_;
  added_ = added_ || (changed && !pauses.empty());
  pauses_ = std::move(pauses);
  read_at_ = now;
  if (!changed) return {};
  const auto put_off = std::exchange(put_off_, {});
  return {put_off.begin(), put_off.end()};
}

Milliseconds PausedParts::time_left(delivery::EntityId entity, delivery::WebhookId webhook,
                                    std::string_view url, platform::MonotonicTime now) const {
  Milliseconds longest{0};
  if (pauses_.empty()) return longest;
  const std::string objects[] = {to_string(entity), to_string(webhook), webhook::comparable_host(url)};
  const auto passed = std::chrono::floor<Milliseconds>(now - read_at_);
  for (const auto& pause : pauses_) {
    if (pause.object != objects[static_cast<std::size_t>(pause.what)]) continue;
    longest = std::max(longest, pause.left ? *pause.left - passed : Milliseconds::max());
  }
  return longest;
}

}  // namespace dispatcher
