#include "lib/store/notifications/shifted_times.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "lib/webhook/event.hpp"

namespace store {

namespace {

using namespace std::chrono_literals;

constexpr auto tolerance = 1min;
constexpr auto clock_skew = 5s;  // of the writer's clock against the database's
constexpr std::int64_t longest = 14;
constexpr std::size_t fewest_minutes = 3;

/// ORDER BY begins with `evento` for MySQL, which does not see that it is constant there.
constexpr std::string_view latest_of_event = R"sql(
  SELECT n.id, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en, CAST(n.terminada_en AS CHAR) AS terminada_en
  FROM notificaciones_pendientes n FORCE INDEX (notificaciones_por_evento)
  WHERE n.evento = ? AND n.ocurrida_en > UTC_TIMESTAMP(3) - INTERVAL 2 DAY AND n.origen = 'evaluacion' AND n.no_antes_de IS NULL
  ORDER BY n.evento DESC, n.ocurrida_en DESC, n.id DESC LIMIT 1000)sql";

struct Shifted {
  std::int64_t notifications = 0;
  NotificationId last{};
  std::set<UtcTime> minutes{};
};

std::map<std::int64_t, Shifted> shifted_by_hours(const Rows& rows) {
  std::map<std::int64_t, Shifted> result;
  for (const auto& row : rows) {
    const auto occurred = row.optional_time("ocurrida_en");
    const auto taken_up = row.optional_time("terminada_en");
    const auto hours = occurred && taken_up ? whole_hours_between(*occurred, *taken_up) : std::nullopt;
    if (!hours) continue;
    auto& shifted = result[*hours];
    ++shifted.notifications;
    shifted.last = std::max(shifted.last, NotificationId{row.integer("id")});
    shifted.minutes.insert(std::chrono::floor<std::chrono::minutes>(*taken_up));
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> whole_hours_between(UtcTime occurred, UtcTime taken_up) {
  const auto waited = taken_up - occurred + clock_skew;
  const auto hours = std::chrono::floor<std::chrono::hours>(waited);
  if (hours.count() < 1 || hours.count() > longest || waited - hours >= tolerance) return std::nullopt;
  return hours.count();
}

std::vector<ShiftedTimes> find_shifted_times(Session& session) {
  std::vector<ShiftedTimes> result;
  for (const auto event : webhook::all_events()) {
    const std::string name(webhook::name(event));
    for (const auto& [hours, shifted] : shifted_by_hours(session.query(latest_of_event, name))) {
      if (shifted.minutes.size() >= fewest_minutes)
        result.push_back({name, hours, shifted.notifications, shifted.last});
    }
  }
  return result;
}

}  // namespace store
