// What the pool counts (docs/observability.md has the table): all processes together, in one file.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "fcgi-app/routes.hpp"
#include "lib/metrics/table.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/session/error_stats.hpp"

namespace api {

/// Shared by all threads; no lock is taken.
class Metrics {
 public:
  /// Counts alone when there is no file to share (metrics.api_file), and says so in the log: what only shows
  /// never stops what works.
  Metrics(const platform::MetricsSettings& settings, const platform::Log& log);

  void count_request(const Match& match, int status, std::chrono::microseconds duration) const;
  void count_error(store::ErrorKind kind) const;

  /// Of all processes, for a scrape.
  std::string text() const { return table_.text(); }

 private:
  static metrics::Table make_table(const platform::MetricsSettings& settings, const platform::Log& log);

  metrics::Table table_;
  std::vector<metrics::Counter> requests_;  // by route, and by status within it
  std::vector<metrics::Histogram> durations_;
  std::vector<metrics::Counter> errors_;
};

}  // namespace api
