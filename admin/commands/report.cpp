// report

#include <algorithm>
#include <map>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/filter.hpp"
#include "admin/render.hpp"
#include "store/notifications/report.hpp"
#include "webhook/event.hpp"

namespace admin {

namespace {

using store::ReportedNotification;
using webhook::json::Value;

/// What the notification came to: an entity is reached once one of its webhooks has it.
std::string_view outcome_of(const ReportedNotification& reported) {
  if (reported.delivered > 0) return "alcanzada";
  if (reported.state != "procesada") return reported.state;
  if (reported.webhooks == 0) return "sin_webhook";
  return reported.pending > 0 ? "pendiente" : "no_alcanzada";
}

std::string reason_of(const ReportedNotification& reported) {
  if (reported.delivered > 0) return {};
  if (!reported.reason.empty()) return reported.reason;
  if (reported.state == "procesada" && reported.webhooks == 0)
    return "La entidad no tenía ningún webhook suscrito";
  return reported.held > 0 ? "El webhook está desactivado: la entrega queda retenida" : "";
}

webhook::json::Object to_row(const ReportedNotification& reported) {
  return {{"entidad_id", reported.entity},
          {"nombre", reported.name},
          {"notificacion_id", reported.id},
          {"clave", reported.key},
          {"ocurrida_en", time_value(reported.occurred)},
          {"resultado", outcome_of(reported)},
          {"webhooks", reported.webhooks},
          {"entregadas", reported.delivered},
          {"primera_entrega", time_value(reported.first)},
          {"motivo", reason_of(reported)}};
}

platform::UtcTime checked_since(const Context& context, const Arguments& arguments) {
  const auto now = platform::utc_now();
  const auto since = parse_since(arguments.text("since").value(), now);
  const auto kept = context.config.settings.retention.delivered;
  if (since < now - kept)
    throw UsageError("--since is before what is kept: deliveries that ended more than " +
                     platform::format_duration(kept) + " ago (retention.delivered) are gone, so before " +
                     platform::format_iso8601(now - kept) + " the report would be wrong");
  return since;
}

std::string checked_event(const Arguments& arguments) {
  auto event = arguments.text("event").value();
  if (!webhook::find_event(event))
    throw UsageError("--event: '" + event + "' is none of the 11 events (docs/events.md)");
  return event;
}

/// "50 notifications: 40 alcanzada, 10 sin_webhook"
std::string summary_of(const webhook::json::Array& rows) {
  std::map<std::string, std::size_t> counts;
  for (const auto& row : rows) ++counts[*row.find("resultado")->string()];
  std::string text;
  for (const auto& [outcome, count] : counts)
    text += (text.empty() ? ": " : ", ") + std::to_string(count) + " " + outcome;
  return std::to_string(rows.size()) + " notifications" + text;
}

Result report(Context& context, const Arguments& arguments) {
  store::ReportPage page{checked_event(arguments), checked_since(context, arguments)};
  if (const auto until = arguments.text("until"))
    page.until = parse_time("--until", *until, platform::utc_now());
  webhook::json::Array rows;
  for (;;) {
    const auto reported = store::read_report(context.session, page);
    if (reported.empty()) break;
    for (const auto& one : reported) rows.emplace_back(to_row(one));
  }
  Result result{std::move(rows)};
  result.note = summary_of(*result.value.array());
  if (arguments.has("csv")) result.text = render_csv(result.value);
  return result;
}

}  // namespace

std::vector<Command> report_commands() {
  return {
      {.words = "report",
       .summary = "Which entities an event's notifications have reached, which not, and why",
       .details = "A row for each notification, those of entities without a webhook and rejected ones "
                  "included, test events\n"
                  "not. resultado: alcanzada (one of its webhooks has it), pendiente, no_alcanzada, "
                  "sin_webhook, rechazada,\n"
                  "cancelada.",
       .options = {.options = {{"event", "E", "one of the 11, such as evaluacion.abierta", true},
                               {"since", "T",
                                "what occurred from then on: 2026-11-20, 2026-11-20T10:00:00Z, or 2h", true},
                               {"until", "T", "and before then"},
                               {"csv", "", "comma-separated (RFC 4180), for a spreadsheet"}}},
       .example = "apientidades-admin report --event evaluacion.abierta --since 2d --csv",
       .run = report},
  };
}

}  // namespace admin
