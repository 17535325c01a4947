// delivery list|show|retry

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/lookup.hpp"
#include "admin/output/delivery_rows.hpp"
#include "admin/output/render.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/store/deliveries/deliveries.hpp"

namespace admin {

namespace {

constexpr std::string_view states[] = {"pendiente", "en_curso",  "entregada",
                                       "fallida",   "cancelada", "retenida"};

store::Delivery find(store::Session& session, delivery::DeliveryId id) {
  auto delivery = store::find_delivery(session, id);
  if (!delivery)
    throw Failure("there is no delivery " + to_string(id) +
                  " (or retention has purged it): `delivery list` shows them");
  return *std::move(delivery);
}

Result list(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, states, platform::utc_now());
  return list_result(store::list_deliveries(context.session, one_more(filter)), filter,
                     [](const store::Delivery& delivery) { return to_row(delivery); });
}

Result show(Context& context, const Arguments& arguments) {
  const auto delivery = find(context.session, arguments.required_id());
  json::Array attempts;
  for (const auto& attempt : store::list_attempts(context.session, delivery.id))
    attempts.emplace_back(to_row(attempt));
  auto row = to_row(delivery);
  row.emplace_back("historial", std::move(attempts));
  return {std::move(row)};
}

std::string why_not(const store::Delivery& delivery) {
  if (delivery.state == "en_curso")
    return "is en_curso: it is being sent at this moment, wait for its outcome";
  if (delivery.state == "retenida")
    return "is retenida: it is sent as soon as its webhook is active (`webhook enable " +
           to_string(delivery.webhook) +
           "`), its entity too (`entity enable`), and the secret can be opened (`secrets status`)";
  return "is " + delivery.state + " and its notification " + to_string(delivery.notification) +
         " is cancelada or has expired (caduca_en): nothing more of it is sent";
}

Result retry_one(Context& context, delivery::DeliveryId id) {
  const auto change = store::retry_delivery(context.session, id);
  const auto delivery = find(context.session, id);
  const std::string name = "delivery " + to_string(id) + " ";
  if (change == store::DeliveryChange::webhook_deleted)
    throw Failure(name + "is " + delivery.state + " and its webhook " + to_string(delivery.webhook) +
                  " has been deleted by its entity: it cannot be sent");
  if (change != store::DeliveryChange::done) throw Failure(name + why_not(delivery));
  const bool held = delivery.state == "retenida";
  return {to_row(delivery),
          "Delivery " + to_string(id) + " to webhook " + to_string(delivery.webhook) +
              (held ? " is retenida: it is sent after `webhook enable " + to_string(delivery.webhook) + "`."
                    : " is due now; its retry schedule starts again.")};
}

Result retry_failed(Context& context, delivery::WebhookId id, platform::UtcTime since, bool dry_run) {
  const auto hook = require_webhook(context.session, id);
  const auto bulk = dry_run ? store::Bulk::count : store::Bulk::change;
  const auto retried = store::retry_failed_deliveries(context.session, id, since, bulk).value_or(0);
  std::string text = "Deliveries of webhook " + to_string(id) + " created since " +
                     platform::format_iso8601(since) + " that " + (dry_run ? "would be" : "are") +
                     " due now: " + std::to_string(retried);
  if (!hook.active)
    text += "; the webhook is inactive, they are sent after `webhook enable " + to_string(id) + "`";
  json::Object row{
      {"webhook_id", id}, {"desde", time_value(since)}, {"reintentadas", static_cast<std::int64_t>(retried)}};
  return {dry_run ? simulated(std::move(row)) : std::move(row), text + "."};
}

Result retry(Context& context, const Arguments& arguments) {
  const bool many = arguments.has("webhook") || arguments.has("since");
  if (arguments.has("id") == many || arguments.has("webhook") != arguments.has("since"))
    throw UsageError("delivery retry takes either an ID, or --webhook N and --since T together");
  if (!many && arguments.is_dry_run())
    throw UsageError("--dry-run goes with --webhook and --since: `delivery show ID` shows one delivery");
  if (!many) return retry_one(context, arguments.required_id());
  const auto filter = read_filter(arguments, states, platform::utc_now());
  return retry_failed(context, filter.webhook.value(), filter.since.value(), arguments.is_dry_run());
}

}  // namespace

std::vector<Command> delivery_commands() {
  return {
      {.words = "delivery list",
       .summary = "List deliveries: one for each notification and webhook subscribed to its event",
       .details = "--since looks at when the delivery was made, not at its last attempt.",
       .options = {.options = {entity_filter,
                               webhook_filter,
                               notification_filter,
                               {"state", "STATE",
                                "only these: pendiente, en_curso, entregada, fallida, cancelada, retenida"},
                               since_filter,
                               limit_filter}},
       .example = "apientidades-admin delivery list --webhook 3 --state fallida",
       .recorded = Recorded::never,
       .run = list},
      {.words = "delivery show",
       .summary = "Show one delivery with the evidence of every attempt (historial)",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin delivery show 108",
       .recorded = Recorded::never,
       .run = show},
      {.words = "delivery retry",
       .summary = "Send a delivery again, or all that failed at a webhook",
       .details = "With an ID: that delivery, even if it has been delivered. With --webhook and --since: all "
                  "deliveries\n"
                  "created since then that are fallida or wait for a retry; all are due at once.",
       .options = {.id = IdWord::optional,
                   .options = {{"webhook", "N", "the webhook, once its receiver works again"},
                               {"since", "T", "2026-11-20, 2026-11-20T10:00:00Z, or 2h: the last two hours"},
                               dry_run}},
       .example = "apientidades-admin delivery retry --webhook 3 --since 2d",
       .recorded = Recorded::before,
       .run = retry},
  };
}

}  // namespace admin
