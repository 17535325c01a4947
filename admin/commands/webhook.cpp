// webhook list|show|explain|disable|enable|urls|lift

#include <array>
#include <cstdio>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/lookup.hpp"
#include "admin/output/explanation.hpp"
#include "admin/output/render.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/store/webhooks/changes.hpp"
#include "lib/store/webhooks/disabled_urls.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "lib/webhook/signature.hpp"

namespace admin {

namespace {

constexpr std::string_view states[] = {"activo", "inactivo"};

json::Object to_row(const store::Webhook& hook) {
  json::Array events;
  for (const auto event : hook.events.events()) events.emplace_back(webhook::name(event));
  return {{"id", hook.id},
          {"entidad_id", hook.entity},
          {"url", hook.url},
          {"eventos", std::move(events)},
          {"activo", hook.active},
          {"motivo", hook.inactive_reason},
          {"fecha_alta", time_value(hook.created)},
          {"ultima_ejecucion", time_value(hook.last_execution)},
          {"ultimo_estado", hook.last_status},
          {"ultimo_error", hook.last_error},
          {"nombre", hook.name}};
}

std::string name_of(const store::Webhook& hook) {
  return "Webhook " + to_string(hook.id) + " of entity " + to_string(hook.entity);
}

/// Reads all webhooks (an entity has at most five) and keeps those in the filter's state.
std::vector<store::Webhook> in_state(store::Session& session, store::ListFilter filter) {
  filter.limit = 0x7fffffff;
  auto hooks = store::list_webhooks(session, filter);
  std::erase_if(hooks, [&](const auto& hook) { return hook.active != (filter.state == "activo"); });
  return hooks;
}

json::Object failing_row(const store::FailingWebhook& hook) {
  return {{"id", hook.id},
          {"entidad_id", hook.entity},
          {"url", hook.url},
          {"falla_desde", time_value(hook.streak.since)},
          {"fallos", hook.streak.failures},
          {"desactivacion", time_value(hook.streak.deactivation)},
          {"ultimo_estado", hook.last_status},
          {"ultimo_error", hook.last_error}};
}

Result list_failing(Context& context, const Arguments& arguments) {
  if (arguments.has("state") || arguments.has("since"))
    throw UsageError(
        "webhook list --failing takes neither --state nor --since: it lists active webhooks, whatever their "
        "age");
  const auto filter = read_filter(arguments, states, platform::utc_now());
  auto hooks = store::list_failing_webhooks(context.session, one_more(filter),
                                            context.config.settings.delivery.disable_after);
  const bool more = hooks.size() > filter.limit;
  if (more) hooks.resize(filter.limit);
  json::Array rows;
  for (const auto& hook : hooks) rows.emplace_back(failing_row(hook));
  Result result{std::move(rows)};
  if (more)
    result.note = "more webhooks fail, with a later desactivacion: --limit N shows more than " +
                  std::to_string(filter.limit);
  return result;
}

Result list(Context& context, const Arguments& arguments) {
  if (arguments.has("failing")) return list_failing(context, arguments);
  const auto filter = read_filter(arguments, states, platform::utc_now());
  const auto hooks = filter.state ? in_state(context.session, filter)
                                  : store::list_webhooks(context.session, one_more(filter));
  return list_result(hooks, filter, to_row);
}

std::string rounded(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", number);
  return text.data();
}

std::string describe(const Facts& facts, const std::vector<Cause>& causes, const Ceiling& ceiling) {
  const auto& backlog = facts.backlog;
  std::string text = name_of(facts.webhook) + ": due " + counted(backlog.due) +
                     (backlog.oldest_due ? " since " + platform::format_iso8601(*backlog.oldest_due) : "") +
                     ", later " + counted(backlog.later) + ", held " + counted(backlog.held) +
                     ", in flight " + std::to_string(in_flight_to(facts)) + ".\n";
  if (causes.empty()) text += "Nothing waits, and nothing would hold up a new delivery.\n";
  for (const auto& cause : causes)
    text += "- " + cause.name + (cause.until ? " until " + platform::format_iso8601(*cause.until) : "") +
            ": " + cause.text + '\n';
  text +=
      "At most " + std::to_string(ceiling.at_once) + " at once, by each dispatcher with this configuration";
  if (ceiling.per_second)
    text += "; its latest attempts took " + std::to_string(*ceiling.each_ms) + " ms: at most " +
            rounded(*ceiling.per_second) + " a second";
  return text + ".\n";
}

Result explain(Context& context, const Arguments& arguments) {
  const auto facts = require_facts(context, arguments.required_id());
  const auto& settings = context.config.settings.delivery;
  const auto causes = causes_of(facts, settings);
  const auto ceiling = ceiling_of(facts, settings);
  json::Array rows;
  for (const auto& cause : causes)
    rows.emplace_back(
        json::Object{{"causa", cause.name}, {"hasta", time_value(cause.until)}, {"detalle", cause.text}});
  const auto& backlog = facts.backlog;
  return {
      json::Object{{"id", facts.webhook.id},
                   {"entidad_id", facts.webhook.entity},
                   {"activo", facts.webhook.active},
                   {"motivo", facts.webhook.inactive_reason},
                   {"vencidas", backlog.due},
                   {"mas_antigua", time_value(backlog.oldest_due)},
                   {"futuras", backlog.later},
                   {"proximo_intento", time_value(backlog.next_attempt)},
                   {"retenidas", backlog.held},
                   {"en_curso", in_flight_to(facts)},
                   {"causas", std::move(rows)},
                   {"tope_a_la_vez", std::int64_t{ceiling.at_once}},
                   {"duracion_ms", ceiling.each_ms},
                   {"tope_por_segundo",
                    ceiling.per_second ? json::Value(json::Number{rounded(*ceiling.per_second)}) : nullptr}},
      describe(facts, causes, ceiling)};
}

Result show(Context& context, const Arguments& arguments) {
  const auto hook = require_webhook(context.session, arguments.required_id());
  const auto detail = store::find_detail(context.session, hook.entity, hook.id);
  auto row = to_row(hook);
  row.emplace_back("certificado_caduca", time_value(detail ? detail->certificate_end : std::nullopt));
  Result result{std::move(row)};
  constexpr std::string_view ask_for_another =
      ": ask the entity to set one of whsec_ and `openssl rand -base64 24`";
  if (detail && detail->weak_secret)
    result.note = "its secret has fewer than 16 bytes, so its signatures could be guessed";
  if (detail && detail->unverifiable_secret)
    result.note += std::string(result.note.empty() ? "" : "; ") +
                   "the libraries of Standard Webhooks cannot verify with its secret («" +
                   std::string(webhook::unverifiable_secret) + "»)";
  if (!result.note.empty()) result.note += ask_for_another;
  return result;
}

/// Names the entity's other webhooks that stay active and go to the same URL, in any spelling.
std::string others_beside(store::Session& session, const store::Webhook& hook) {
  std::string others;
  store::ListFilter filter;
  filter.entity = hook.entity;
  for (const auto& other : store::list_webhooks(session, filter)) {
    if (other.id != hook.id && other.active && store::is_disabled({hook.url}, other.url))
      others += "webhook " + to_string(other.id) +
                " of the entity goes to the same URL and is active: `webhook disable " + to_string(other.id) +
                "` holds its deliveries, too. ";
  }
  return others;
}

/// Names the earlier URLs of the webhook that stay disabled. Each of them was the webhook's URL when the
/// operator disabled the webhook.
std::string left_disabled(store::Session& session, const store::Webhook& hook) {
  std::string left;
  store::ListFilter filter;
  filter.webhook = hook.id;
  for (const auto& url : store::list_disabled_urls(session, filter))
    left += "its earlier URL stays disabled: `webhook lift --entity " + to_string(url.entity) + " --url '" +
            url.url + "'` lifts that. ";
  return left;
}

json::Object to_row(const store::DisabledUrl& url) {
  return {{"entidad_id", url.entity},
          {"url", url.url},
          {"webhook_id", url.webhook},
          {"desactivada_en", time_value(url.since)}};
}

Result urls(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, states, platform::utc_now());
  return list_result(store::list_disabled_urls(context.session, one_more(filter)), filter,
                     [](const store::DisabledUrl& url) { return to_row(url); });
}

Result lift(Context& context, const Arguments& arguments) {
  const store::EntityId entity = arguments.required_id("entity");
  const auto url = arguments.text("url").value();
  const auto lifted = store::lift_disabled_url(context.session, entity, url);
  if (lifted == 0)
    throw Failure("no such URL is disabled for entity " + to_string(entity) + ": `webhook urls --entity " +
                  to_string(entity) + "` lists those that are");
  return {json::Object{{"entidad_id", entity}, {"url", url}},
          "Entity " + to_string(entity) +
              " may use the URL again; webhooks that are inactive stay so until `webhook enable`."};
}

Result preview_disable(Context& context, const store::Webhook& hook) {
  const auto facts = require_facts(context, hook.id);
  const auto waiting = facts.backlog.due + facts.backlog.later;
  auto row = to_row(hook);
  row.emplace_back("entregas_pendientes", waiting);
  row.emplace_back("en_curso", in_flight_to(facts));
  Result result{simulated(std::move(row)),
                name_of(hook) + " would be inactive (operador); deliveries held: " + counted(waiting) +
                    ", in flight, which would be completed: " + std::to_string(in_flight_to(facts)) + "."};
  result.note = others_beside(context.session, hook);
  return result;
}

Result disable(Context& context, const Arguments& arguments) {
  const auto before = require_webhook(context.session, arguments.required_id());
  if (arguments.is_dry_run()) return preview_disable(context, before);
  store::disable_webhook(context.session, before.id, store::disabled_by_operator);
  const auto after = require_webhook(context.session, before.id);
  const std::string done = before.active ? " is inactive now" : " was inactive already";
  Result result{to_row(after), name_of(after) + done + " (" + after.inactive_reason.value_or("") +
                                   "): its deliveries are held until `webhook enable " + to_string(after.id) +
                                   "`."};
  result.note = others_beside(context.session, after);
  return result;
}

Result enable(Context& context, const Arguments& arguments) {
  const auto before = require_webhook(context.session, arguments.required_id());
  const bool discard = arguments.has("discard");
  const bool dry_run = arguments.is_dry_run();
  const auto done =
      dry_run ? store::preview_enable_webhook(context.session, before.id, discard)
              : store::enable_webhook(context.session, before.id, discard).value_or(store::EnableResult{});
  const auto after = require_webhook(context.session, before.id);
  auto row = to_row(after);
  row.emplace_back("entregas_liberadas", static_cast<std::int64_t>(done.released));
  row.emplace_back("entregas_canceladas", static_cast<std::int64_t>(done.cancelled));
  const std::string state = before.active ? " was active already"
                            : dry_run     ? " would be active"
                                          : " is active now";
  Result result{dry_run ? simulated(std::move(row)) : std::move(row),
                name_of(after) + state + "; deliveries released: " + std::to_string(done.released) +
                    ", cancelled: " + std::to_string(done.cancelled) + "."};
  result.note = left_disabled(context.session, after);
  return result;
}

}  // namespace

std::vector<Command> webhook_commands() {
  return {
      {.words = "webhook list",
       .summary =
           "List webhooks: whether each is active, why not, how its last delivery went; and which fail now",
       .details =
           "motivo of an inactive webhook: operador (`webhook disable`), http_410 (its receiver answered "
           "410),\n"
           "fallos (nothing but failures for delivery.disable_after), entidad (its entity's own PATCH).\n"
           "--failing: active webhooks with nothing but failures since falla_desde, the soonest "
           "desactivacion "
           "first:\n"
           "from that time on the next failure deactivates the webhook. desactivacion is empty before the\n"
           "tenth failure, with delivery.disable_after 0s, and while the database's clock has jumped\n"
           "(`queue status`).",
       .options = {.options = {entity_filter,
                               webhook_filter,
                               {"state", "STATE", "only these: activo, inactivo"},
                               {"failing", "",
                                "only those that fail now, with the time of their desactivacion"},
                               since_filter,
                               limit_filter}},
       .example = "apientidades-admin webhook list --state inactivo",
       .recorded = Recorded::never,
       .run = list},
      {.words = "webhook show",
       .summary = "Show one webhook",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin webhook show 3",
       .recorded = Recorded::never,
       .run = show},
      {.words = "webhook explain",
       .summary =
           "Explain why a webhook's deliveries wait, until when, and how much can be sent to it at most",
       .details = "causa: sin_despachador, corte, cola_pausada, pausa, entidad_desactivada, inactivo, "
                  "secreto_ilegible,\n"
                  "descanso (after a 429, or with an unreadable secret), reintento (its schedule), adelanto\n"
                  "(attempts ahead of it), sondeo (one attempt at a time after a failure), limite_webhook,\n"
                  "limite_host, limite_total, retenida, turno (its fair share). Counts end at 10000.",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin webhook explain 3",
       .recorded = Recorded::never,
       .run = explain},
      {.words = "webhook disable",
       .summary = "Hold the deliveries of a webhook until `webhook enable`",
       .details = "Attempts in flight are completed. The entity sees activo: false. It cannot evade this: a\n"
                  "webhook that it registers with the same URL, in any spelling, is inactive until\n"
                  "`webhook enable`.",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin webhook disable 3",
       .recorded = Recorded::in_transaction,
       .run = disable},
      {.words = "webhook enable",
       .summary = "Make a webhook active again, and send or cancel what was held",
       .options = {.id = IdWord::required,
                   .options = {{"discard", "", "cancel what was held or waits, instead of sending it"},
                               dry_run}},
       .example = "apientidades-admin webhook enable 3 --discard",
       .recorded = Recorded::before,
       .run = enable},
      {.words = "webhook urls",
       .summary = "List the URLs that `webhook disable` has disabled, also those of deleted webhooks",
       .options = {.options = {entity_filter, webhook_filter, since_filter, limit_filter}},
       .example = "apientidades-admin webhook urls --entity 7",
       .recorded = Recorded::never,
       .run = urls},
      {.words = "webhook lift",
       .summary = "Let an entity use a disabled URL again, once the webhook that had it is gone",
       .details = "`webhook disable` disabled the URL. If the webhook still exists, use `webhook enable`.",
       .options = {.options = {{"entity", "N", "the entity of the webhook", true},
                               {"url", "URL", "as `webhook urls` shows it, or another spelling", true}}},
       .example = "apientidades-admin webhook lift --entity 7 --url https://hooks.example.com/avisos",
       .recorded = Recorded::in_transaction,
       .run = lift},
  };
}

}  // namespace admin
