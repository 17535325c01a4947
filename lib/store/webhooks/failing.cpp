#include "lib/store/webhooks/failing.hpp"

#include <algorithm>

#include "lib/store/outages/outages.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

using platform::Milliseconds;

// A streak ends after 48 h without a failure, and when the webhook gets a new URL or is activated. The
// statements below test for these ends, because the streak's row in webhook_ejecuciones is updated later: for
// the 48 h, at the next attempt (lib/delivery/executions.cpp); for a change of the webhook, when a dispatcher
// applies the change (changes.hpp).

constexpr std::string_view fails_now_and = R"sql( x.fallos > 0 AND w.plaza IS NOT NULL
    AND (SELECT c.webhook_id FROM cambios_webhook c WHERE c.webhook_id = w.id) IS NULL AND )sql";
/// `cuenta` is true if the streak meets the conditions of find_due_for_deactivation, apart from those on
/// times.
constexpr std::string_view streak_columns = R"sql(
  CAST(x.fallos_desde AS CHAR) AS fallos_desde, x.fallos,
  w.activo AND x.fallos >= ? AND (SELECT salto_ms FROM reloj_visto WHERE id = 1) = 0 AS cuenta)sql";

constexpr std::string_view select_columns = "SELECT ";
constexpr std::string_view from_webhook = R"sql(
  FROM webhooks w JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  WHERE w.id = ? AND )sql";
constexpr std::string_view streak_of_webhook =
    joined<select_columns, streak_columns, from_webhook, fails_now_and, streak_goes_on>;

// STRAIGHT_JOIN makes the database read `webhooks` only for failing webhooks. The table also holds deleted
// webhooks, which may be many.

constexpr std::string_view select_webhook_and_columns = R"sql(
  SELECT w.id, w.entidad_id, w.url, x.ultimo_estado, x.ultimo_error, )sql";
constexpr std::string_view from_executions = R"sql(
  FROM webhook_ejecuciones x STRAIGHT_JOIN webhooks w ON w.id = x.webhook_id
  WHERE )sql";
constexpr std::string_view longest_first = R"sql(
    AND w.activo AND (? IS NULL OR w.entidad_id = ?) AND (? IS NULL OR w.id = ?)
  ORDER BY x.fallos_desde, w.id LIMIT ?)sql";
constexpr std::string_view failing_webhooks =
    joined<select_webhook_and_columns, streak_columns, from_executions, fails_now_and, streak_goes_on,
           longest_first>;

constexpr std::string_view select_counts = R"sql(
  SELECT COUNT(*) AS mitad, COALESCE(SUM(x.fallos_desde <= ?), 0) AS nueve_decimos)sql";
constexpr std::string_view for_so_long = " AND x.fallos_desde <= ? AND w.activo";
constexpr std::string_view failing_since =
    joined<select_counts, from_executions, fails_now_and, streak_goes_on, for_so_long>;
constexpr std::string_view clock_is_believed = R"sql(
  SELECT salto_ms = 0 AS creido FROM reloj_visto WHERE id = 1)sql";

/// Reads without a lock, because nearly always no webhook is due. The condition on `hora` requires that a
/// dispatcher has noted the database's clock within the last hour. If the note is older, the clock may have
/// jumped, and watch_clock (clock_watch.hpp) may not have noted the jump yet.
constexpr std::string_view select_those_failed = R"sql(
  SELECT w.id, CAST(x.fallos_desde AS CHAR) AS fallos_desde
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id
  STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = j.id
  WHERE w.activo AND x.fallos >= ?
    AND (SELECT salto_ms = 0 AND hora > UTC_TIMESTAMP(3) - INTERVAL 1 HOUR FROM reloj_visto WHERE id = 1)
    AND x.fallos_desde <= UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND AND )sql";
constexpr std::string_view due_for_deactivation = joined<select_those_failed, fails_now_and, streak_goes_on>;

/// The time of our own outages does not count towards `disable_after`.
UtcTime deactivation_time(UtcTime since, Milliseconds disable_after, const OutageTimes& outages) {
  return since + disable_after + outages.since(since);
}

/// The outages since the earliest of these streaks began.
OutageTimes outages_of(Session& session, const Rows& streaks) {
  auto first = UtcTime::max();
  for (const auto& row : streaks) first = std::min(first, row.time("fallos_desde"));
  return read_outages(session, first);
}

FailureStreak read_streak(const Row& row, Milliseconds disable_after, const OutageTimes& outages) {
  FailureStreak streak{row.time("fallos_desde"), row.integer("fallos"), {}};
  if (disable_after.count() > 0 && row.boolean("cuenta"))
    streak.deactivation = deactivation_time(streak.since, disable_after, outages);
  return streak;
}

}  // namespace

std::optional<FailureStreak> find_failure_streak(Session& session, WebhookId id, Milliseconds disable_after) {
  const auto rows = session.query(streak_of_webhook, min_failures_to_disable, id);
  if (rows.empty()) return std::nullopt;
  return read_streak(rows.front(), disable_after, outages_of(session, rows));
}

std::vector<FailingWebhook> list_failing_webhooks(Session& session, const ListFilter& filter,
                                                  Milliseconds disable_after) {
  const auto rows = session.query(failing_webhooks, min_failures_to_disable, filter.entity, filter.entity,
                                  filter.webhook, filter.webhook, filter.limit);
  std::vector<FailingWebhook> result;
  if (rows.empty()) return result;
  const auto outages = outages_of(session, rows);
  for (const auto& row : rows)
    result.push_back({row.integer("id"), row.integer("entidad_id"), row.text("url"),
                      read_streak(row, disable_after, outages), row.optional_integer("ultimo_estado"),
                      row.text("ultimo_error")});
  return result;
}

std::optional<NearDeactivation> count_near_deactivation(Session& session, Milliseconds disable_after) {
  if (!session.query(clock_is_believed).at(0).boolean("creido")) return std::nullopt;
  if (disable_after.count() == 0) return NearDeactivation{0, 0};
  const auto outages = read_outages(session, UtcTime{});
  const auto rows = session.query(failing_since, outages.so_long_ago(disable_after * 9 / 10),
                                  outages.so_long_ago(disable_after / 2));
  return NearDeactivation{rows.at(0).integer("mitad"), rows.at(0).integer("nueve_decimos")};
}

std::vector<WebhookId> find_due_for_deactivation(Session& session, const std::vector<WebhookId>& failed,
                                                 Milliseconds disable_after) {
  std::vector<WebhookId> due;
  if (disable_after.count() == 0 || failed.empty()) return due;
  const auto rows = session.query(due_for_deactivation, json_ids(failed), min_failures_to_disable,
                                  microseconds(disable_after));
  if (rows.empty()) return due;
  const auto outages = outages_of(session, rows);
  for (const auto& row : rows) {
    const auto since = row.optional_time("fallos_desde");  // a date that cannot be read deactivates nothing
    if (since && deactivation_time(*since, disable_after, outages) <= outages.now())
      due.push_back(row.integer("id"));
  }
  return due;
}

}  // namespace store
