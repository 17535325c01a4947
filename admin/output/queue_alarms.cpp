#include "admin/output/queue_alarms.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lib/text/text.hpp"

namespace admin {

namespace {

constexpr std::int64_t longest_silence_s = 60;  // of a dispatcher that works

std::string describe(const store::RunningOutage& outage) {
  return "OUTAGE (" + outage.kind + ") of this service, seen by dispatcher " + outage.dispatcher + " since " +
         platform::format_iso8601(outage.since) + ": " + std::to_string(outage.deliveries) +
         " deliveries delayed, none counted as a failure";
}

std::string describe(const store::LockedNotifications& locked) {
  return "LOCKED: " + std::to_string(locked.count) +
         " notifications wait for another session's lock; the oldest is " + to_string(locked.first.id) +
         " of entity " + to_string(locked.first.entity) + "; open transactions: " + locked.holders;
}

std::string describe(const store::BlockedInserts& blocked) {
  return "BLOCKED: an INSERT of a notification has waited for " + describe_age(blocked.longest.count()) +
         " for another session's lock; open transactions: " + blocked.holders;
}

std::string describe_clock(std::int64_t jump_s) {
  return "CLOCK: the database's clock has " + std::string(jump_s > 0 ? "jumped forward" : "gone back") +
         " by " + describe_age(std::abs(jump_s)) +
         (jump_s > 0 ? ": nothing is purged"
                     : ": what waits may wait so much longer, and nothing is purged,") +
         " until `apientidades-admin queue clock accept`";
}

std::string_view name(Level level) {
  constexpr std::array<std::string_view, 4> names{"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  return names.at(static_cast<std::size_t>(level));
}

/// What Nagios draws. The counts have no thresholds.
std::string performance_data(const store::QueueStatus& status, const Thresholds& thresholds) {
  return " | mas_antigua=" + std::to_string(status.oldest_s) + "s;" +
         std::to_string(thresholds.warning.count()) + ";" + std::to_string(thresholds.critical.count()) +
         " notificaciones_pendientes=" + std::to_string(status.pending_notifications) +
         " entregas_pendientes=" + std::to_string(status.pending_deliveries) +
         " en_curso=" + std::to_string(status.in_flight) + " retenidas=" + std::to_string(status.held) +
         " fallidas=" + std::to_string(status.failed) + " rechazadas=" + std::to_string(status.rejected);
}

}  // namespace

std::vector<Alarm> alarms_of(const QueueSight& sight) {
  using enum Level;
  const auto& status = sight.status;
  std::vector<Alarm> alarms;
  if (sight.without_dispatcher_s > longest_silence_s)
    alarms.push_back({critical, "NO DISPATCHER has noted for " + describe_age(sight.without_dispatcher_s) +
                                    " that it works: `systemctl status apientidades-dispatcher`"});
  for (const auto& outage : sight.outages) alarms.push_back({critical, describe(outage)});
  if (status.clock_jump_s != 0) alarms.push_back({critical, describe_clock(status.clock_jump_s)});
  if (sight.sandbox)
    alarms.push_back({critical,
                      "SANDBOX: deliveries to hosts that delivery.sandbox does not list are not sent, and "
                      "end as entregada: `config show --running`"});
  if (status.paused)
    alarms.push_back({critical, "PAUSED: nothing is sent until `apientidades-admin queue resume`"});
  if (sight.locked) alarms.push_back({critical, describe(*sight.locked)});
  if (sight.blocked) alarms.push_back({critical, describe(*sight.blocked)});
  for (const auto& pause : sight.pauses) alarms.push_back({warning, describe_pause(pause)});
  return alarms;
}

Alarm check_result(Level level, std::string text, const std::string& data) {
  std::ranges::replace(text, '|', '/');  // the mark behind which the data begin
  return {level, "QUEUE " + std::string(name(level)) + " - " + text::one_line(text) + data};
}

Alarm check_queue(const QueueSight& sight, const Thresholds& thresholds) {
  const std::chrono::seconds oldest(sight.status.oldest_s);
  auto level = oldest >= thresholds.critical  ? Level::critical
               : oldest >= thresholds.warning ? Level::warning
                                              : Level::ok;
  std::string text = "the oldest waits for " + describe_age(sight.status.oldest_s);
  for (const auto& alarm : alarms_of(sight)) {
    level = std::max(level, alarm.level);
    text += "; " + alarm.text;
  }
  return check_result(level, text, performance_data(sight.status, thresholds));
}

std::string selector_of(const store::Pause& pause) {
  const bool entity = pause.what == store::Paused::entity;
  return "--" + std::string(entity ? "entity" : store::name(pause.what)) + ' ' + pause.object;
}

std::string describe_pause(const store::Pause& pause) {
  const bool entity = pause.what == store::Paused::entity;
  return "paused: " + std::string(entity ? "entity" : store::name(pause.what)) + ' ' + pause.object +
         (pause.until ? " until " + platform::format_iso8601(*pause.until) : "") +
         (pause.reason.empty() ? "" : " (" + pause.reason + ")") + ": `queue resume " + selector_of(pause) +
         '`';
}

std::string describe_age(std::int64_t seconds) {
  std::array<char, 48> text{};
  const auto write = [&](const char* format, std::int64_t large, std::int64_t small) {
    std::snprintf(text.data(), text.size(), format, static_cast<long long>(large),
                  static_cast<long long>(small));
    return std::string(text.data());
  };
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return write("%lld min %02lld s", seconds / 60, seconds % 60);
  if (seconds < 86400) return write("%lld h %02lld min", seconds / 3600, seconds / 60 % 60);
  return write("%lld d %lld h", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace admin
