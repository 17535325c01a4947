// The API's metrics and health, and this process's STATUS= line for `systemctl status`.
#pragma once

#include <atomic>
#include <string>

#include "fcgi-app/health.hpp"
#include "fcgi-app/metrics.hpp"
#include "lib/store/session/error_stats.hpp"

namespace api {

/// One per process, shared by its threads. It must outlive the threads and their sessions.
struct Observation {
  Observation(const config::MetricsSettings& settings, const platform::Log& log)
      : metrics(settings, log), errors([this](store::ErrorKind kind) { metrics.count_error(kind); }) {}
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  /// Returns this process's status: `3 of 16 threads busy; 1200 requests answered; last error …`.
  std::string status(unsigned threads) const;

  Metrics metrics;
  Health health;
  store::ErrorStats errors;
  std::atomic<unsigned> busy = 0;  // threads with a request
  std::atomic<std::uint64_t> answered = 0;
};

}  // namespace api
