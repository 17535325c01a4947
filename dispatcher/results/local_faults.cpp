#include "dispatcher/results/local_faults.hpp"

#include <utility>

namespace dispatcher {

namespace {
constexpr std::chrono::minutes report_interval{1};
}

void LocalFaults::note(const delivery::Attempt& attempt, platform::MonotonicTime now) {
  auto& unreported = faults_.at(static_cast<std::size_t>(attempt.fault));
  ++unreported.attempts;
  if (now < unreported.next) return;
  unreported.next = now + report_interval;
  log_.error("a fault of this host has ended attempts: they count for no receiver, and are made again",
             {{"fault", name(attempt.fault)},
              {"attempts", std::exchange(unreported.attempts, 0)},
              {"delivery", attempt.delivery.id},
              {"webhook", attempt.delivery.webhook}});
}

}  // namespace dispatcher
