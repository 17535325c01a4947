// Shows the dispatcher's state: metrics over HTTP if metrics.listen is set, and the STATUS= line of
// `systemctl status`. Uses its own thread and database session, because a look at a long queue must delay no
// delivery.
//
// A failure here stops nothing else. If listening fails, the failure is logged once, and listening is tried
// again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "dispatcher/observation/metrics.hpp"
#include "lib/config/config.hpp"
#include "lib/metrics/endpoint.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/program/reload.hpp"
#include "lib/store/backlog/queue.hpp"
#include "lib/store/notices/notices.hpp"
#include "lib/store/session/error_stats.hpp"
#include "lib/store/webhooks/failing.hpp"

namespace dispatcher {

class Observation {
 public:
  Observation(const config::Settings& settings, const platform::Log& log);
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  const Metrics& metrics() const { return metrics_; }
  /// Counts the errors of the observed sessions.
  store::ErrorStats& errors() { return errors_; }

  /// Starts the thread that looks at the queue and reports. The arguments outlive this object.
  void start(const platform::StopSignal& stop, const program::Reload& reload);

 private:
  using Span = platform::MonotonicTime::duration;
  void run(const std::stop_token& end, const platform::StopSignal& stop, const program::Reload& reload);
  void listen();
  Span look();
  void show(const store::QueueStatus& queue) const;
  void show(const store::NoticeCounts& notices) const;
  void show(const std::optional<store::NearDeactivation>& near) const;
  template <class T>
  void show(QueueGauge gauge, T value) const {
    metrics_.queue.at(static_cast<std::size_t>(gauge)).set(static_cast<double>(value));
  }
  void forget() const;
  std::string status(bool stopping) const;

  config::Settings settings_;
  platform::Log log_;
  Metrics metrics_;
  store::ErrorStats errors_;
  store::Session session_;
  std::unique_ptr<metrics::Endpoint> endpoint_;
  bool told_ = false;                        // a failure to listen has been logged
  std::optional<store::QueueStatus> queue_;  // none: not known
  std::jthread thread_;                      // last: it uses the members above
};

/// Returns a text such as `3 notifications and 120 deliveries wait, the oldest for 4 s; 5 in flight`. Pure.
std::string describe(const store::QueueStatus& queue, std::int64_t in_flight);

}  // namespace dispatcher
