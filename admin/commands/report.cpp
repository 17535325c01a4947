// report

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/output/entity_report.hpp"
#include "admin/output/render.hpp"
#include "admin/output/shifted_times_note.hpp"
#include "lib/webhook/event.hpp"

namespace admin {

namespace {

constexpr std::chrono::seconds progress_interval{10};

/// Throws UsageError when retention may have deleted notifications that occurred after `since`. The shortest
/// of the three retention periods decides.
void check_since(const config::RetentionSettings& retention, platform::UtcTime since, platform::UtcTime now) {
  using Kept = std::pair<platform::Milliseconds, std::string_view>;
  const auto [kept, key] = std::min({Kept{retention.delivered, "delivered"}, Kept{retention.failed, "failed"},
                                     Kept{retention.rejected, "rejected"}});
  if (since < now - kept)
    throw UsageError("--since is before what is kept: what ended more than " +
                     platform::format_duration(kept) + " ago may be gone (retention." + std::string(key) +
                     "), so a report from before " + platform::format_iso8601(now - kept) +
                     " would be wrong");
}

std::string checked_event(const Arguments& arguments) {
  auto event = arguments.text("event").value();
  if (!webhook::find_event(event))
    throw UsageError("--event: '" + event + "' is none of the 11 events (docs/events.md)");
  return event;
}

store::ReportPage first_page(const Context& context, const Arguments& arguments) {
  const auto now = platform::utc_now();
  store::ReportPage page{checked_event(arguments), parse_since(arguments.text("since").value(), now)};
  check_since(context.config.settings.retention, page.since, now);
  if (const auto until = arguments.text("until")) page.until = parse_time("--until", *until, now);
  return page;
}

struct Read {
  EntityReports reports;
  std::map<std::int64_t, std::int64_t> hours_off;  // hours -> notifications
};

/// Reads all pages; memory grows only with the number of entities.
Read read_all(const Context& context, store::ReportPage page) {
  Read result;
  std::size_t read = 0;
  auto next_progress = platform::monotonic_now() + progress_interval;
  for (;;) {
    const auto notifications = store::read_report(context.session, page);
    if (notifications.empty()) return result;
    for (const auto& one : notifications) {
      add_up(result.reports, one);
      if (one.hours_off) ++result.hours_off[*one.hours_off];
    }
    read += notifications.size();
    if (platform::monotonic_now() < next_progress) continue;
    complain(context.output, std::to_string(read) + " notifications read, those up to " +
                                 platform::format_iso8601(page.after));
    next_progress = platform::monotonic_now() + progress_interval;
  }
}

/// Writes row by row, because there are as many rows as entities.
void write_rows(std::ostream& out, const EntityReports& reports, bool json) {
  if (!json) out << csv_names(to_row(0, {}));
  std::string_view before = "[";
  for (const auto& [entity, report] : reports) {
    const auto row = to_row(entity, report);
    if (json) {
      out << before << json::dump(row);
    } else {
      out << csv_line(row);
    }
    before = ",\n ";
  }
  if (json) out << (reports.empty() ? "[]\n" : "]\n");
}

Result report(Context& context, const Arguments& arguments) {
  const auto [reports, hours_off] = read_all(context, first_page(context, arguments));
  Result result;
  if (context.output.json || arguments.has("csv")) {
    write_rows(context.output.out, reports, context.output.json);
  } else {
    json::Array rows;
    for (const auto& [entity, report] : reports) rows.emplace_back(to_row(entity, report));
    result.value = std::move(rows);
  }
  result.note = summary_of(reports);
  std::int64_t notifications = 0;
  for (const auto& [entity, report] : reports) notifications += report.notifications;
  if (const auto note = shifted_times_note(hours_off, notifications); !note.empty())
    result.note += "; " + note;
  return result;
}

}  // namespace

std::vector<Command> report_commands() {
  return {
      {.words = "report",
       .summary = "Whom an event has reached, whom not, and why: entidad_id, nombre, webhooks, ...",
       .details =
           "A row for each entity that the event was for, with or without a webhook. notificaciones: "
           "its notifications of\n"
           "the event, without tests. webhooks: the largest number of webhooks for one notification "
           "(0: none). entregadas,\n"
           "pendientes, fallidas, retenidas and canceladas count deliveries; a notification without a "
           "delivery counts as\n"
           "one in pendientes or canceladas if that is its state. rechazadas counts notifications. "
           "ultimo_error: the last\n"
           "reason why something was not delivered. An entity was reached if entregadas is not 0; if "
           "the counts after it\n"
           "are 0, all its deliveries arrived. caducadas: how many of canceladas had expired (caduca_en).",
       .options = {.options = {{"event", "E", "one of the 11, such as evaluacion.abierta", true},
                               {"since", "T",
                                "events that occurred from then on: 2026-11-20, 2026-11-20T10:00:00Z, or 2h",
                                true},
                               {"until", "T", "and before then"},
                               {"csv", "", "comma-separated (RFC 4180), for a spreadsheet"}}},
       .example = "apientidades-admin report --event evaluacion.abierta --since 2d --csv",
       .recorded = Recorded::never,
       .run = report},
  };
}

}  // namespace admin
