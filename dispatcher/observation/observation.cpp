#include "dispatcher/observation/observation.hpp"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

#include "lib/platform/service_manager.hpp"
#include "lib/store/audit/audit.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t count_limit = 100000;  // most rows to count of one state; that takes about 20 ms
constexpr unsigned idle_factor = 50;          // looks take at most a fiftieth of this thread's time
constexpr auto report_interval = 1s;
constexpr auto unknown = std::numeric_limits<double>::quiet_NaN();

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + (count >= count_limit ? " or more " : " ") +
         std::string(count == 1 ? one : many);
}

}  // namespace

std::string describe(const store::QueueStatus& queue, std::int64_t in_flight) {
  std::string text;
  if (queue.paused) text += "PAUSED by queue pause; ";
  if (queue.clock_jump_s != 0)
    text += "the database's CLOCK has jumped, nothing is purged (queue clock accept); ";
  if (queue.pending_notifications == 0 && queue.pending_deliveries == 0) {
    text += "nothing waits";
  } else {
    text += counted(queue.pending_notifications, "notification", "notifications") + " and " +
            counted(queue.pending_deliveries, "delivery", "deliveries") + " wait";
    if (queue.oldest_s > 0) text += ", the oldest for " + std::to_string(queue.oldest_s) + " s";
  }
  text += "; " + std::to_string(in_flight) + " in flight";
  if (queue.held > 0) text += "; " + counted(queue.held, "held", "held");
  if (queue.rejected > 0)
    text += "; " + counted(queue.rejected, "rejected notification", "rejected notifications");
  return text;
}

Observation::Observation(const config::Settings& settings, const platform::Log& log)
    : settings_(settings),
      log_(log),
      errors_([this](store::ErrorKind kind) { metrics_.count_error(kind); }),
      session_(settings.database,
               errors_.observed(
                   {.program_user = "apientidades_dispatcher", .read_timeout_s = 5, .lock_wait_s = 1}, log)) {
  metrics_.sandbox.set(settings.delivery.sandbox.empty() ? 0 : 1);
  forget();
  listen();
}

void Observation::start(const platform::StopSignal& stop, const program::Reload& reload) {
  thread_ = std::jthread([this, &stop, &reload](const std::stop_token& end) { run(end, stop, reload); });
}

void Observation::run(const std::stop_token& end, const platform::StopSignal& stop,
                      const program::Reload& reload) {
  std::mutex mutex;
  std::condition_variable_any wake;
  const auto pause = std::min<Span>(report_interval, settings_.metrics.queue_interval);
  auto next_look = platform::monotonic_now();
  platform::StatusLine status_line(log_);
  while (!end.stop_requested()) {
    if (platform::monotonic_now() >= next_look) {
      listen();
      const auto cost = look();
      next_look =
          platform::monotonic_now() + std::max<Span>(settings_.metrics.queue_interval, idle_factor * cost);
    }
    // Until its first round, the loop reports that it waits for the database, and for what.
    if (metrics_.rounds.value() > 0)
      status_line.report(std::string(reload.refusal()) + status(stop.requested()));
    std::unique_lock lock(mutex);
    wake.wait_for(lock, end, pause, [] { return false; });
  }
}

void Observation::listen() {
  if (endpoint_ || settings_.metrics.listen.empty()) return;
  try {
    endpoint_ = std::make_unique<metrics::Endpoint>(settings_.metrics.listen, metrics_.table);
    log_.info("serving metrics", {{"listen", settings_.metrics.listen}});
  } catch (const std::runtime_error& error) {
    if (!std::exchange(told_, true))
      log_.error("metrics cannot be served; retrying", {{"key", "metrics.listen"}, {"error", error.what()}});
  }
}

/// Returns how long the look took; 0 if it failed, so that a long wait for the database does not delay the
/// next look.
Observation::Span Observation::look() {
  const auto start = platform::monotonic_now();
  try {
    queue_ = store::queue_status(session_, count_limit);
    show(QueueGauge::numbers_left, store::notification_numbers_left(session_).value_or(unknown));
    const auto near = store::count_near_deactivation(session_, settings_.delivery.disable_after);
    show(QueueGauge::changing_entities, store::count_changing_entities(session_));
    const auto notices = store::count_notices(session_);
    const auto cost = platform::monotonic_now() - start;
    show(*queue_);
    show(notices);
    show(near);
    show(QueueGauge::look_duration, std::chrono::duration<double>(cost).count());
    return cost;
  } catch (const std::exception&) {  // errors_ has noted the error
    session_.disconnect();
    queue_.reset();
    forget();
    return {};
  }
}

void Observation::show(const store::QueueStatus& queue) const {
  using enum QueueGauge;
  show(pending_notifications, queue.pending_notifications);
  show(rejected_notifications, queue.rejected);
  show(pending, queue.pending_deliveries);
  show(in_flight, queue.in_flight);
  show(held, queue.held);
  show(failed, queue.failed);
  show(oldest_notification, queue.oldest_notification_s);
  show(oldest_delivery, queue.oldest_delivery_s);
  show(clock_jump, queue.clock_jump_s);
  show(paused_parts, queue.paused_parts);
}

void Observation::show(const store::NoticeCounts& notices) const {
  using enum QueueGauge;
  show(waiting_notices, notices.waiting);
  show(sent_notices, notices.sent);
  show(given_up_notices, notices.given_up);
  show(oldest_notice, notices.oldest_s);
  show(refused_addresses, notices.refused);
}

void Observation::show(const std::optional<store::NearDeactivation>& near) const {
  show(QueueGauge::past_half, near ? static_cast<double>(near->half) : unknown);
  show(QueueGauge::past_nine_tenths, near ? static_cast<double>(near->nine_tenths) : unknown);
}

/// Sets the gauges to NaN, so that a graph shows a gap and an old value raises no alert.
void Observation::forget() const {
  for (const auto& gauge : metrics_.queue) gauge.set(unknown);
}

std::string Observation::status(bool stopping) const {
  const auto in_flight = static_cast<std::int64_t>(metrics_.in_flight.value());
  std::string text = stopping ? "stopping; " : "";
  if (metrics_.sandbox.value() > 0) text += "SANDBOX: only delivery.sandbox is reached; ";
  for (const auto kind : {store::OutageKind::network, store::OutageKind::names}) {
    if (metrics_.outages.at(static_cast<std::size_t>(kind)).value() > 0)
      text += "OUTAGE of this service (" + std::string(name(kind)) + "); ";
  }
  text += queue_ ? describe(*queue_, in_flight)
                 : "waiting for the database; " + std::to_string(in_flight) + " in flight";
  if (const auto last = errors_.last(); !last.empty()) text += "; last error " + last;
  return text;
}

}  // namespace dispatcher
