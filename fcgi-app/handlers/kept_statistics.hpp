// Keeps each webhook's statistics for some seconds, because reading them costs the database more than any
// other request.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "lib/platform/clock.hpp"
#include "lib/store/deliveries/statistics.hpp"

namespace api {

/// Thread-safe; one per process.
class KeptStatistics {
 public:
  static constexpr std::chrono::seconds life{5};

  /// Returns the statistics of the webhook and the window. Calls `read` for them if none are kept.
  template <class Read>
  store::DeliveryStatistics get(store::WebhookId webhook, platform::Milliseconds window,
                                platform::MonotonicTime now, Read read) const {
    const std::pair key{webhook, window};
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(kept_, [now](const auto& one) { return one.second.until <= now; });
      if (const auto found = kept_.find(key); found != kept_.end()) return found->second.statistics;
    }
    const auto statistics = read();
    const std::scoped_lock lock(mutex_);
    kept_.insert_or_assign(key, Kept{now + life, statistics});
    return statistics;
  }

 private:
  struct Kept {
    platform::MonotonicTime until;
    store::DeliveryStatistics statistics;
  };
  mutable std::mutex mutex_;
  mutable std::map<std::pair<store::WebhookId, platform::Milliseconds>, Kept> kept_;
};

}  // namespace api
