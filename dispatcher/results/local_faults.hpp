// Logs the attempts that a fault of this host has ended: for each fault one line a minute at most.
#pragma once

#include <array>

#include "lib/delivery/attempt.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/log.hpp"

namespace dispatcher {

class LocalFaults {
 public:
  explicit LocalFaults(const platform::Log& log) : log_(log) {}
  void note(const delivery::Attempt& attempt, platform::MonotonicTime now);

 private:
  struct Unreported {
    unsigned attempts = 0;
    platform::MonotonicTime next{};  // when they may be reported
  };
  platform::Log log_;
  std::array<Unreported, delivery::local_fault_names.size()> faults_{};
};

}  // namespace dispatcher
