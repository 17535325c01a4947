// webhook diagnose|test|trace

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/lookup.hpp"
#include "admin/output/delivery_rows.hpp"
#include "admin/output/render.hpp"
#include "admin/output/trace.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/store/deliveries/deliveries.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"
#include "lib/store/notifications/notifications.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/key_file.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/sealed_data.hpp"

namespace admin {

namespace {

using platform::Milliseconds;
using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr Milliseconds look_interval = 500ms;
constexpr Milliseconds causes_interval = 5s;  // to find them counts many rows
constexpr int rest_after_look = 50;           // times as long as a slow look of `webhook trace` took
constexpr unsigned most_watched = 2000;       // deliveries, and attempts in one look
constexpr Milliseconds usual_wait = 2min;
constexpr Milliseconds longest_wait = 1h;  // after which a pending diagnosis fails
constexpr Milliseconds longest_trace = std::chrono::hours(24 * 30);
/// What can delay a diagnosis or a test event by hours, and the operator can mend.
constexpr std::array<std::string_view, 5> worth_naming{"sin_despachador", "corte", "cola_pausada", "pausa",
                                                       "secreto_ilegible"};

constexpr Option wait_option{"wait", "DURATION", "how long to wait for the result, 1s to 1h (default 2m)"};

Milliseconds wait_of(const Arguments& arguments) {
  return arguments.duration(wait_option.name, 1s, longest_wait).value_or(usual_wait);
}

std::string name_of(const store::Webhook& hook) {
  return "Webhook " + to_string(hook.id) + " of entity " + to_string(hook.entity);
}

/// Shows progress to people. Programs read the result alone.
void tell(const Output& output, const std::string& text) {
  if (!output.json) complain(output, text);
}

/// Names each cause once.
void name_causes(Context& context, store::WebhookId webhook, std::set<std::string>& named) {
  for (const auto& cause : causes_of(require_facts(context, webhook), context.config.settings.delivery)) {
    const bool mendable = std::ranges::find(worth_naming, cause.name) != worth_naming.end();
    if (mendable && named.insert(cause.name).second) complain(context.output, "it waits: " + cause.text);
  }
}

/// Calls `ended` until it returns true. Returns false if a signal to stop or the end of `longest` comes
/// first.
template <class Ended>
bool wait_until_ended(Context& context, store::WebhookId webhook, Milliseconds longest, Ended ended) {
  const platform::StopSignal stop;
  const auto last = monotonic_now() + longest;
  std::set<std::string> named;
  auto next_causes = monotonic_now();
  while (!ended()) {
    if (const auto now = monotonic_now(); now >= next_causes) {
      name_causes(context, webhook, named);
      next_causes = now + causes_interval;
    }
    if (monotonic_now() >= last || stop.wait(static_cast<int>(look_interval.count()))) return false;
  }
  return true;
}

void require_active_entity(const store::Entity& entity) {
  if (!entity.active)
    throw Failure("entity " + to_string(entity.id) + " is disabled: `entity enable " + to_string(entity.id) +
                  "` first");
}

std::string describe(const store::Webhook& hook, const std::string& state, const json::Value& checks) {
  std::string text = name_of(hook) + ": diagnosis " + state + ".\n";
  for (const auto& check : *checks.array()) {
    const auto member = [&](std::string_view name) { return *check.find(name)->string(); };
    text += "- " + member("resultado") + " " + member("prueba") + ": " + text::one_line(member("detalle"));
    if (!member("remedio").empty()) text += " → " + text::one_line(member("remedio"));
    text += '\n';
  }
  return text;
}

bool is_bad(const json::Value& check) { return *check.find("resultado")->string() == "mal"; }

Result diagnosed(const store::Webhook& hook, const store::Diagnosis& diagnosis) {
  if (diagnosis.findings.empty())
    throw Failure("the dispatcher that diagnosed webhook " + to_string(hook.id) +
                  " has ended: ask once more");
  auto checks = json::parse(diagnosis.findings);
  const bool good = diagnosis.state == "terminado" && std::ranges::none_of(*checks.array(), is_bad);
  auto text = describe(hook, diagnosis.state, checks);
  Result result{json::Object{{"id", hook.id},
                             {"entidad_id", hook.entity},
                             {"estado", diagnosis.state},
                             {"iniciado", time_value(diagnosis.started)},
                             {"pruebas", std::move(checks)}},
                std::move(text)};
  result.status = good ? program::exit_done : program::exit_failed;
  return result;
}

Result diagnose(Context& context, const Arguments& arguments) {
  const auto longest = wait_of(arguments);
  const auto hook = require_webhook(context.session, arguments.required_id());
  const auto id = to_string(hook.id);
  const auto entity = require_entity(context.session, hook.entity);
  require_active_entity(entity);
  const auto asked = store::ask_diagnosis(context.session, {entity.id}, entity.name, hook.id, 0, false);
  if (asked.result == store::DiagnosisAsked::not_found) require_webhook(context.session, hook.id);
  if (asked.result != store::DiagnosisAsked::done)
    throw Failure("webhook " + id + " is disabled by the operator: `webhook enable " + id + "` first");
  std::string state;
  std::optional<store::Diagnosis> found;
  const bool ended = wait_until_ended(context, hook.id, longest, [&] {
    found = store::find_diagnosis(context.session, hook.id);
    if (!found) throw Failure("the diagnosis of webhook " + id + " has been purged");
    if (std::exchange(state, found->state) != found->state)
      tell(context.output, "diagnosis of webhook " + id + ": " + state);
    return state == "terminado" || state == "fallido";
  });
  if (!ended)
    throw Failure("the diagnosis is still " + state + ": `webhook explain " + id +
                  "` says what may delay it, and the same command again waits for it");
  return diagnosed(hook, *found);
}

webhook::Event event_of(const Arguments& arguments, const store::Webhook& hook) {
  const auto typed = arguments.text("event");
  const auto events = hook.events.events();
  const auto event =
      typed ? webhook::find_event(*typed) : (events.empty() ? std::nullopt : std::optional(events.front()));
  if (event && hook.events.contains(*event)) return *event;
  throw Failure("webhook " + to_string(hook.id) + " is not subscribed to " + typed.value_or("any event") +
                ": its events are " + hook.events.joined());
}

bool has_ended(const store::Delivery& delivery) {
  return delivery.state != "pendiente" && delivery.state != "en_curso";
}

/// Prints attempts of the delivery that have numbers above `shown`.
void tell_attempts(Context& context, store::DeliveryId delivery, std::int64_t& shown) {
  for (const auto& traced : store::list_attempts_since(context.session, {delivery}, {}, most_watched)) {
    if (traced.attempt.number <= shown) continue;
    shown = traced.attempt.number;
    if (!context.output.json) context.output.err << traced_text(traced) << std::flush;
  }
}

Result test(Context& context, const Arguments& arguments) {
  const auto longest = wait_of(arguments);
  const auto hook = require_webhook(context.session, arguments.required_id());
  const auto entity = require_entity(context.session, hook.entity);
  require_active_entity(entity);
  const auto event = event_of(arguments, hook);
  const auto keys = webhook::read_key_file(context.config.settings.secrets.key_file);
  const auto data = webhook::test_event_data(event, entity.id, entity.name, {});
  const auto queued = store::queue_test_delivery(context.session, hook, event,
                                                 webhook::seal_test_data(keys, entity.id, event, data));
  if (!queued)
    throw Failure("webhook " + to_string(hook.id) + " is inactive: `webhook enable " + to_string(hook.id) +
                  "` first");
  tell(context.output, "test event " + std::string(webhook::name(event)) + " queued as delivery " +
                           to_string(*queued) + " to " + hook.url);
  std::int64_t shown = 0;
  std::optional<store::Delivery> delivery;
  wait_until_ended(context, hook.id, longest, [&] {
    delivery = store::find_delivery(context.session, *queued);
    if (!delivery) throw Failure("delivery " + to_string(*queued) + " has been purged");
    tell_attempts(context, *queued, shown);
    return has_ended(*delivery);
  });
  json::Array attempts;
  for (const auto& attempt : store::list_attempts(context.session, *queued))
    attempts.emplace_back(to_row(attempt));
  auto row = to_row(*delivery);
  row.emplace_back("historial", std::move(attempts));
  Result result{std::move(row), "Delivery " + to_string(*queued) + " is " + delivery->state + "."};
  if (delivery->state != "entregada") {
    result.status = program::exit_failed;
    result.note = "it has not been delivered: `delivery show " + to_string(*queued) +
                  "` shows its attempts, `webhook explain " + to_string(hook.id) + "` why it waits";
  }
  return result;
}

/// The attempts of a webhook, each once, after they have been recorded. Watches the deliveries that may be
/// attempted next, and those that were among them lately and have not ended.
class AttemptFeed {
 public:
  AttemptFeed(store::WebhookId webhook, platform::UtcTime since) : webhook_(webhook), since_(since) {}

  std::vector<store::AttemptOfDelivery> next(store::Session& session, platform::UtcTime now) {
    watch(session);
    std::vector<store::DeliveryId> watched;
    for (const auto& [delivery, seen] : seen_) watched.push_back(delivery);
    auto attempts = store::list_attempts_since(session, watched, since_, most_watched);
    for (const auto& [delivery, attempt] : attempts)
      if (has_ended(delivery)) seen_.erase(delivery.id);
    std::erase_if(attempts, [&](const auto& one) {
      return !shown_.emplace(one.attempt.started, one.delivery.id, one.attempt.number).second;
    });
    since_ = std::max(since_, now - latest_record);
    shown_.erase(shown_.begin(), shown_.lower_bound({since_, 0, 0}));
    return attempts;
  }

 private:
  /// An attempt is recorded at most so long after its beginning.
  static constexpr auto latest_record = 1h;

  void watch(store::Session& session) {
    const auto now = monotonic_now();
    for (const auto delivery : store::find_next_attempted(session, webhook_)) seen_[delivery] = now;
    std::erase_if(seen_, [&](const auto& one) { return one.second < now - latest_record; });
    while (seen_.size() > most_watched)
      seen_.erase(std::ranges::min_element(seen_, {}, [](const auto& one) { return one.second; }));
  }

  store::WebhookId webhook_;
  platform::UtcTime since_;
  std::map<store::DeliveryId, platform::MonotonicTime> seen_;
  std::set<std::tuple<platform::UtcTime, store::DeliveryId, std::int64_t>> shown_;
};

Result trace(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, {}, platform::utc_now());
  const auto length = arguments.duration("for", 1s, longest_trace).value_or(longest_trace);
  const auto facts = require_facts(context, arguments.required_id());
  AttemptFeed feed(facts.webhook.id, filter.since.value_or(facts.backlog.now));
  tell(context.output, name_of(facts.webhook) + " (" + facts.webhook.url +
                           "): an attempt is shown once it has ended and is recorded");
  std::set<std::string> named;
  name_causes(context, facts.webhook.id, named);
  const platform::StopSignal stop;
  const auto last = monotonic_now() + length;
  Milliseconds rest = look_interval;
  bool ended = false;
  do {
    const auto left = std::chrono::ceil<Milliseconds>(last - monotonic_now());
    ended = stop.wait(static_cast<int>(std::clamp(left, 0ms, rest).count())) || monotonic_now() >= last;
    try {
      const auto start = monotonic_now();
      const auto attempts = feed.next(context.session, platform::utc_now());
      const auto took = std::chrono::ceil<Milliseconds>(monotonic_now() - start);
      rest = std::max(look_interval, rest_after_look * took);
      for (const auto& traced : attempts) print(context.output, {traced_row(traced), traced_text(traced)});
    } catch (const store::Unavailable& error) {
      complain(context.output, std::string("database unavailable; retrying: ") + error.what());
    }
  } while (context.output.out && !ended);
  return {};
}

}  // namespace

std::vector<Command> receiver_commands() {
  return {
      {.words = "webhook diagnose",
       .summary = "Diagnose a webhook's receiver as its entity can, and show the findings",
       .details = "A dispatcher makes the checks. Sends up to five test requests; no delivery, listing or "
                  "failure streak\nchanges. Exit status 1: a check is mal, or the diagnosis did not end.",
       .options = {.id = IdWord::required, .options = {wait_option}},
       .example = "apientidades-admin webhook diagnose 3",
       .recorded = Recorded::before,
       .run = diagnose},
      {.words = "webhook test",
       .summary = "Send a test event to one webhook, and wait for its outcome",
       .details = "As POST /webhooks/test, but to this webhook alone and without the entity's limits. Exit "
                  "status 1:\nnot delivered within --wait; it is tried again like any test event.",
       .options = {.id = IdWord::required,
                   .options = {{"event", "E", "one of the webhook's events (default: its first)"},
                               wait_option}},
       .example = "apientidades-admin webhook test 3 --event evaluacion.abierta",
       .recorded = Recorded::before,
       .run = test},
      {.words = "webhook trace",
       .summary = "Show the attempts to a webhook as they are recorded, until Ctrl-C",
       .details = "With the headers of each request, without signatures. --json: one object a line.",
       .options = {.id = IdWord::required,
                   .options = {{"for", "DURATION", "end after this time, 1s to 30d"},
                               {"since", "T", "begin with the attempts since then (default: now)"}}},
       .example = "apientidades-admin webhook trace 3 --for 10m",
       .recorded = Recorded::never,
       .run = trace},
  };
}

}  // namespace admin
