// The metrics of the API (docs/observability.md#metrics): all processes count in one file.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "fcgi-app/routes.hpp"
#include "lib/config/config.hpp"
#include "lib/metrics/table.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/session/error_stats.hpp"

namespace api {

/// Thread-safe, without locks.
class Metrics {
 public:
  /// If the file (metrics.api_file) cannot be used, logs an error and counts for this process alone: metrics
  /// must not stop the service.
  Metrics(const config::MetricsSettings& settings, const platform::Log& log);

  void count_request(const Match& match, int status, std::chrono::microseconds duration) const;
  /// A request for the link of a mail, which is no route of the API.
  void count_mail_link(int status, std::chrono::microseconds duration) const;
  void count_error(store::ErrorKind kind) const;

  /// The metrics of all processes in Prometheus' text format.
  std::string text() const { return table_.text(); }

 private:
  void count(std::size_t route, int status, std::chrono::microseconds duration) const;
  static metrics::Table make_table(const config::MetricsSettings& settings, const platform::Log& log);

  metrics::Table table_;
  std::vector<metrics::Counter> requests_;  // by route, then by status
  std::vector<metrics::Histogram> durations_;
  std::vector<metrics::Counter> errors_;
};

}  // namespace api
