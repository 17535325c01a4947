// notification list|show|retry|discard|cancel

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/output/render.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/store/notifications/notifications.hpp"

namespace admin {

namespace {

constexpr std::string_view states[] = {"pendiente", "procesada", "rechazada", "cancelada"};

json::Object to_row(const store::Notification& notification) {
  return {{"id", notification.id},
          {"entidad_id", notification.entity},
          {"evento", notification.event},
          {"estado", notification.state},
          {"origen", notification.origin},
          {"error", notification.error},
          {"clave", notification.key},
          {"ocurrida_en", time_value(notification.occurred)},
          {"no_antes_de", time_value(notification.not_before)}};
}

/// Parses the data that the evaluation system wrote. Returns the text itself if our parser refuses the data;
/// the dispatcher rejects a notification with such data.
json::Value data_value(const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::ParseError&) {
    return text;
  }
}

store::Notification find(store::Session& session, delivery::NotificationId id) {
  auto notification = store::find_notification(session, id);
  if (!notification)
    throw Failure("there is no notification " + to_string(id) +
                  " (or retention has purged it): `notification list` shows them");
  return *std::move(notification);
}

std::string name_of(const store::Notification& notification) {
  return "Notification " + to_string(notification.id) + " (" + notification.event + ", entity " +
         to_string(notification.entity) + ")";
}

/// What the operator can do when the notification's state refuses the change.
std::string advice(const store::Notification& notification) {
  if (notification.state == "pendiente")
    return "the dispatcher will process it, not before its no_antes_de, or `notification cancel` stops it";
  if (notification.state == "procesada")
    return "only its deliveries can still change: `delivery list --notification " +
           to_string(notification.id) + "`, `delivery retry`";
  if (notification.state == "rechazada")
    return "`notification retry` tries it again, `notification discard` cancels it";
  return "nothing of it will be sent";
}

[[noreturn]] void refuse(const store::Notification& notification, const std::string& what) {
  throw Failure("notification " + to_string(notification.id) + " is " + notification.state + " and " + what +
                ": " + advice(notification));
}

Result list(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, states, platform::utc_now());
  return list_result(store::list_notifications(context.session, one_more(filter)), filter, to_row);
}

Result show(Context& context, const Arguments& arguments) {
  const auto notification = find(context.session, arguments.required_id());
  auto row = to_row(notification);
  row.emplace_back("caduca_en", time_value(notification.expires));
  row.emplace_back("urgente", notification.urgent);
  row.emplace_back("anulada_en", time_value(notification.withdrawn));
  row.emplace_back("motivo", notification.reason);
  row.emplace_back("datos", notification.data ? data_value(*notification.data) : nullptr);
  return {std::move(row)};
}

/// The result of a dry run of `notification retry` or `discard`.
Result preview(const store::Notification& notification, const std::string& refusal,
               const std::string& becomes) {
  if (notification.state != "rechazada") refuse(notification, refusal);
  return {simulated(to_row(notification)), name_of(notification) + " would be " + becomes + "."};
}

Result retry(Context& context, const Arguments& arguments) try {
  const auto before = find(context.session, arguments.required_id());
  if (arguments.is_dry_run()) return preview(before, "cannot be retried", "pendiente again");
  if (store::retry_notification(context.session, before.id) != store::NotificationChange::done)
    refuse(find(context.session, before.id), "cannot be retried");
  return {to_row(find(context.session, before.id)),
          name_of(before) + " is pendiente again: the dispatcher checks it now."};
} catch (const store::DuplicateKey&) {
  throw Failure(
      "another notification of the entity has used its clave since: "
      "`notification discard` cancels this one");
}

Result discard(Context& context, const Arguments& arguments) {
  const auto before = find(context.session, arguments.required_id());
  if (arguments.is_dry_run()) return preview(before, "cannot be discarded", "cancelada");
  if (store::discard_notification(context.session, before.id) != store::NotificationChange::done)
    refuse(find(context.session, before.id), "cannot be discarded");
  return {to_row(find(context.session, before.id)),
          name_of(before) + " is cancelada and keeps its reason: nothing is sent."};
}

Result cancel(Context& context, const Arguments& arguments) {
  const auto before = find(context.session, arguments.required_id());
  const bool dry_run = arguments.is_dry_run();
  const auto done = dry_run ? store::preview_cancel_notification(context.session, before.id)
                            : store::cancel_notification(context.session, before.id);
  if (done.change != store::NotificationChange::done)
    refuse(find(context.session, before.id), "has nothing left to cancel");
  auto row = to_row(find(context.session, before.id));
  row.emplace_back("entregas_canceladas", static_cast<std::int64_t>(done.cancelled_deliveries));
  row.emplace_back("entregas_en_curso", static_cast<std::int64_t>(done.in_flight));
  std::string text = name_of(before) + (dry_run ? " would be" : " is") +
                     " cancelada; deliveries cancelled: " + std::to_string(done.cancelled_deliveries);
  if (done.in_flight > 0)
    text += "; being sent at this moment, which may still arrive: " + std::to_string(done.in_flight);
  return {dry_run ? simulated(std::move(row)) : std::move(row), text + "."};
}

}  // namespace

std::vector<Command> notification_commands() {
  return {
      {.words = "notification list",
       .summary = "List notifications: what the evaluation system wrote, and what became of it",
       .details =
           "error says why a notification is rechazada. origen is evaluacion, or prueba for a test event.\n"
           "--since looks at ocurrida_en.",
       .options = {.options = {entity_filter,
                               webhook_filter,
                               {"state", "STATE", "only these: pendiente, procesada, rechazada, cancelada"},
                               since_filter,
                               limit_filter}},
       .example = "apientidades-admin notification list --state rechazada --since 2d",
       .recorded = Recorded::never,
       .run = list},
      {.words = "notification show",
       .summary = "Show one notification with its datos",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin notification show 42 --json",
       .recorded = Recorded::never,
       .run = show},
      {.words = "notification retry",
       .summary =
           "Check a rejected notification again, once the cause is fixed (for example by `entity add`)",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin notification retry 42",
       .recorded = Recorded::in_transaction,
       .run = retry},
      {.words = "notification discard",
       .summary = "Discard a rejected notification: it becomes cancelada, and nothing is sent",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin notification discard 42",
       .recorded = Recorded::in_transaction,
       .run = discard},
      {.words = "notification cancel",
       .summary = "Stop a notification: its deliveries that have not been sent are cancelled",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin notification cancel 42",
       .recorded = Recorded::before,
       .run = cancel},
  };
}

}  // namespace admin
