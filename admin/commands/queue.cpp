// queue status|pause|resume|clock accept

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/lookup.hpp"
#include "admin/output/queue_screen.hpp"
#include "admin/output/render.hpp"
#include "admin/running.hpp"
#include "lib/platform/ip.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/backlog/queue.hpp"
#include "lib/store/entities/entities.hpp"
#include "lib/store/maintenance/clock_watch.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/target_url.hpp"

namespace admin {

namespace {

constexpr std::chrono::milliseconds watch_interval{2000};
constexpr std::int64_t most_counted = 100'000;  // by --check, which runs every minute
constexpr platform::Milliseconds longest_wait = std::chrono::hours(24 * 30);  // as a threshold of --check
constexpr std::string_view clear_screen = "\x1b[2J";

json::Object to_row(const store::QueueStatus& status) {
  return {{"notificaciones_pendientes", status.pending_notifications},
          {"entregas_pendientes", status.pending_deliveries},
          {"en_curso", status.in_flight},
          {"retenidas", status.held},
          {"fallidas", status.failed},
          {"rechazadas", status.rejected},
          {"mas_antigua_s", status.oldest_s},
          {"pausada", status.paused}};  // the overload below adds members for --json
}

json::Value to_row(const store::RunningOutage& outage) {
  return json::Object{{"despachador", outage.dispatcher},
                      {"tipo", outage.kind},
                      {"desde", time_value(outage.since)},
                      {"entregas", outage.deliveries}};
}

json::Object to_row(const store::Pause& pause) {
  return {{"tipo", store::name(pause.what)},
          {"objeto", pause.object},
          {"hasta", time_value(pause.until)},
          {"motivo", pause.reason},
          {"desde", time_value(pause.since)}};
}

json::Value to_row(const store::LockedNotifications& locked) {
  return json::Object{{"notificaciones", static_cast<std::int64_t>(locked.count)},
                      {"primera", locked.first.id.number()},
                      {"entidad_id", locked.first.entity.number()},
                      {"transacciones", locked.holders}};
}

json::Value to_row(const store::BlockedInserts& blocked) {
  return json::Object{{"segundos", static_cast<std::int64_t>(blocked.longest.count())},
                      {"transacciones", blocked.holders}};
}

json::Object to_row(const QueueSight& sight) {
  auto row = to_row(sight.status);
  json::Array rows;
  for (const auto& outage : sight.outages) rows.push_back(to_row(outage));
  row.emplace_back("cortes", std::move(rows));
  row.emplace_back("salto_reloj_s", sight.status.clock_jump_s);
  json::Array paused;
  for (const auto& pause : sight.pauses) paused.emplace_back(to_row(pause));
  row.emplace_back("pausas", std::move(paused));
  if (sight.locked) row.emplace_back("bloqueadas", to_row(*sight.locked));
  if (sight.blocked) row.emplace_back("inserciones_bloqueadas", to_row(*sight.blocked));
  row.emplace_back("aplazadas", sight.status.deferred);
  row.emplace_back("sin_despachador_s", sight.without_dispatcher_s);
  row.emplace_back("entorno_de_pruebas", sight.sandbox);
  return row;
}

/// Returns what `look` finds. A replica refuses the question for locked notifications, which locks; a
/// database with routines of an earlier release, that for blocked INSERTs.
template <class Found>
std::optional<Found> find_if_possible(store::Session& session,
                                      std::optional<Found> (&look)(store::Session&)) {
  try {
    return look(session);
  } catch (const store::DatabaseError&) {
    return std::nullopt;
  }
}

/// Counts up to `limit`, or all.
QueueSight look_at_queue(Context& context, std::optional<std::int64_t> limit = std::nullopt) {
  auto& session = context.session;
  const auto start = platform::monotonic_now();
  QueueSight sight{.status = store::queue_status(session, limit),
                   .at = start,
                   .outages = store::list_running_outages(session),
                   .pauses = store::read_pauses(session).parts,
                   .locked = {},
                   .sandbox = !context.config.settings.delivery.sandbox.empty() ||
                              dispatcher_runs_with("delivery.sandbox"),
                   .without_dispatcher_s = store::since_last_note(session) / std::chrono::seconds(1)};
  if (sight.status.oldest_notification_s >= 60 && !sight.status.paused)
    sight.locked = find_if_possible(session, store::find_locked_notifications);
  sight.blocked = find_if_possible(session, store::find_blocked_inserts);
  return sight;
}

/// Shown first, because they may explain the rest.
std::string describe(const std::vector<Alarm>& alarms) {
  std::string text;
  for (const auto& alarm : alarms) text += alarm.text + '\n';
  return text.empty() ? text : text + '\n';
}

/// The command to follow up each number that needs attention.
std::string hints(const store::QueueStatus& status) {
  std::string text;
  if (status.held > 0)
    text +=
        "retenidas:  `apientidades-admin webhook list --state inactivo`, `entity list`, `secrets status`\n";
  if (status.failed > 0) text += "fallidas:   `apientidades-admin delivery list --state fallida`\n";
  if (status.rejected > 0) text += "rechazadas: `apientidades-admin notification list --state rechazada`\n";
  return text;
}

Result to_result(const QueueSight& sight) {
  const auto& status = sight.status;
  auto text = describe(alarms_of(sight)) + render_people(to_row(status), std::nullopt);
  if (const auto more = hints(status); !more.empty()) text += '\n' + more;
  return {to_row(sight), std::move(text)};
}

/// One line for logs: `2026-… notificaciones_pendientes=0 …`
std::string log_line(const QueueSight& sight) {
  auto text = platform::format_iso8601(platform::utc_now());
  for (const auto& [name, value] : to_row(sight.status)) text += " " + name + "=" + json::dump(value);
  for (const auto& outage : sight.outages) text += " corte_" + outage.kind + "=" + outage.dispatcher;
  for (const auto& pause : sight.pauses)
    text += " pausa_" + std::string(store::name(pause.what)) + "=" + pause.object;
  if (sight.sandbox) text += " entorno_de_pruebas";
  if (sight.locked) text += " bloqueadas=" + std::to_string(sight.locked->count);
  if (sight.blocked)
    text += " inserciones_bloqueadas=" + std::to_string(sight.blocked->longest.count()) + "s";
  return text;
}

/// Colours on a capable terminal, unless NO_COLOR is set (https://no-color.org).
bool colours_wanted() {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

/// The terminal's present size; it may change between two calls.
Screen screen_of_terminal() {
  Screen screen;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.width = size.ws_col;
    screen.height = size.ws_row;
  }
  screen.colours = colours_wanted();
  return screen;
}

void print_watched(const Output& output, const QueueSight& now, const std::optional<QueueSight>& before) {
  if (output.json || !output.terminal) {
    auto row = to_row(now);
    row.emplace_back("hora", platform::format_iso8601(platform::utc_now()));
    print(output, {std::move(row), log_line(now)});
    return;
  }
  const auto screen = screen_of_terminal();
  if (!before) output.out << clear_screen;
  output.out << draw_queue(now, before, platform::format_iso8601(platform::utc_now()), screen) << std::flush;
}

/// Prints the queue again and again until a signal to stop, or until it cannot be printed. An unavailable
/// database ends the command only if it has never answered.
Result watch(Context& context) {
  const platform::StopSignal stop;
  std::optional<QueueSight> before;
  auto pause = watch_interval;
  do {
    const auto start = platform::monotonic_now();
    try {
      const auto now = look_at_queue(context);
      print_watched(context.output, now, before);
      before = now;
    } catch (const store::Unavailable& error) {
      if (!before) throw;
      complain(context.output, std::string("database unavailable; retrying: ") + error.what());
    }
    // Counting a deep queue takes seconds. A longer pause leaves the database to the service most of the
    // time.
    const auto cost =
        std::chrono::duration_cast<std::chrono::milliseconds>(platform::monotonic_now() - start);
    pause = std::max(watch_interval, 4 * cost);
  } while (context.output.out && !stop.wait(static_cast<int>(pause.count())));
  return {};
}

/// Throws UsageError.
Thresholds thresholds_of(const Arguments& arguments) {
  const auto seconds = [&](std::string_view name, std::chrono::seconds otherwise) {
    const auto given = arguments.duration(name, platform::Milliseconds(1000), longest_wait);
    return given ? std::chrono::duration_cast<std::chrono::seconds>(*given) : otherwise;
  };
  const Thresholds usual;
  const Thresholds result{seconds("warning", usual.warning), seconds("critical", usual.critical)};
  if (result.critical < result.warning)
    throw UsageError("--critical must not be shorter than --warning, which is " +
                     std::to_string(result.warning.count()) + "s");
  return result;
}

/// A check never fails: what prevents it is its result.
Alarm look_and_check(Context& context, const Thresholds& thresholds) {
  try {
    return check_queue(look_at_queue(context, most_counted), thresholds);
  } catch (const store::DatabaseError& error) {
    return check_result(Level::unknown, std::string("the database cannot be asked: ") + error.what());
  }
}

Result check(Context& context, const Arguments& arguments) {
  auto [level, text] = look_and_check(context, thresholds_of(arguments));
  Result result{json::Object{{"estado", static_cast<std::int64_t>(level)}, {"texto", text}}, text};
  result.status = static_cast<int>(level);
  return result;
}

Result status(Context& context, const Arguments& arguments) {
  if (arguments.has("check")) return check(context, arguments);
  if (arguments.has("warning") || arguments.has("critical"))
    throw UsageError("--warning and --critical go with --check");
  if (arguments.has("watch")) return watch(context);
  return to_result(look_at_queue(context));
}

/// The pause or resume succeeds even if the queue cannot be counted (a locked table, a count that takes too
/// long).
Result set_paused(Context& context, bool paused) {
  const bool changed = store::set_paused(context.session, paused);
  const std::string done = std::string("Sending ") + (changed ? "is now " : "was already ") +
                           (paused ? "paused until `queue resume`" : "running");
  try {
    const auto status = store::queue_status(context.session);
    return {to_row(status), done + "; in flight: " + std::to_string(status.in_flight) +
                                ", notifications waiting: " + std::to_string(status.pending_notifications) +
                                ", deliveries waiting: " + std::to_string(status.pending_deliveries) + "."};
  } catch (const store::DatabaseError& error) {
    Result result{json::Object{{"pausada", paused}}, done + "."};
    result.note = std::string("what waits could not be counted: ") + error.what();
    return result;
  }
}

Result accept_clock(Context& context, const Arguments&) {
  const auto accepted = store::accept_clock(context.session);
  const auto jumped = accepted.jumped / std::chrono::seconds(1);
  std::string text = "The database's clock was believed already.";
  if (jumped != 0)
    text =
        "The database's clock is believed again, " + describe_age(std::abs(jumped)) +
        (jumped > 0
             ? " further on: retention continues."
             : " back: retention continues; deliveries made due: " + std::to_string(accepted.made_due) + ".");
  return {json::Object{{"salto_reloj_s", std::int64_t{jumped}}}, text};
}

constexpr platform::Milliseconds shortest_pause{1000};
constexpr platform::Milliseconds longest_pause = std::chrono::hours(24 * 365);
constexpr std::size_t longest_host = 253;
constexpr std::size_t longest_reason = 200;

/// Whether the text may be the name of a host in a URL. A pause of any other text, such as `*.example.com`,
/// would pause nothing.
bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= longest_host && std::ranges::all_of(host, [](char c) {
    return text::is_letter(c) || text::is_digit(c) || c == '-' || c == '_' || c == '.';
  });
}

/// Returns the host that `typed` names, without a port, as webhook::comparable_host() writes the host of a
/// URL: a pause applies to the URLs with an equal host. `typed` may be an IPv6 address without brackets, as
/// `queue status` shows it. Throws UsageError if `typed` names no host.
std::string checked_host(const std::string& typed) {
  if (const auto address = platform::IpAddress::parse(typed)) return address->to_string();
  auto host = webhook::comparable_host(typed);
  if (!is_name(host) && !platform::IpAddress::parse(host))
    throw UsageError("--host must be the name or the address of a host, without a port: hooks.example.com");
  return host;
}

/// The part of the queue that the options name; nullopt: the whole queue.
std::optional<store::Pause> named_part(const Arguments& arguments) {
  const std::optional<store::EntityId> entity = arguments.id("entity");
  const std::optional<store::WebhookId> webhook = arguments.id("webhook");
  const auto host = arguments.line("host", longest_host);
  if (int{entity.has_value()} + int{webhook.has_value()} + int{host.has_value()} > 1)
    throw UsageError("only one of --entity, --webhook and --host: each is paused and resumed separately");
  if (entity) return store::Pause{store::Paused::entity, to_string(*entity), {}, {}, {}, {}};
  if (webhook) return store::Pause{store::Paused::webhook, to_string(*webhook), {}, {}, {}, {}};
  if (host) return store::Pause{store::Paused::host, checked_host(*host), {}, {}, {}, {}};
  return std::nullopt;
}

void require_there(store::Session& session, const store::Pause& part) {
  if (part.what == store::Paused::webhook) require_webhook(session, std::stoll(part.object));
  if (part.what == store::Paused::entity) require_entity(session, std::stoll(part.object));
}

std::optional<store::Pause> find_pause(store::Session& session, const store::Pause& part) {
  const auto pauses = store::read_pauses(session).parts;
  const auto found = std::ranges::find_if(pauses, [&](const store::Pause& pause) {
    return pause.what == part.what && pause.object == part.object;
  });
  return found == pauses.end() ? std::nullopt : std::optional(*found);
}

Result pause(Context& context, const Arguments& arguments) {
  const auto part = named_part(arguments);
  const auto length = arguments.duration("for", shortest_pause, longest_pause);
  const auto reason = arguments.line("reason", longest_reason, true).value_or("");
  if (!part) {
    if (length || arguments.has("reason"))
      throw UsageError(
          "--for and --reason go with --entity, --webhook or --host: a stop of all sending ends only with "
          "`queue resume`");
    return set_paused(context, true);
  }
  require_there(context.session, *part);
  store::pause_part(context.session, part->what, part->object, length, reason);
  const auto made = find_pause(context.session, *part).value_or(*part);
  return {to_row(made),
          describe_pause(made) + " ends that. Attempts in flight are completed, and nothing is lost."};
}

Result resume(Context& context, const Arguments& arguments) {
  const auto part = named_part(arguments);
  if (!part) {
    auto result = set_paused(context, false);
    for (const auto& pause : store::read_pauses(context.session).parts)
      result.note += (result.note.empty() ? "" : "; ") + describe_pause(pause);
    return result;
  }
  const bool was = store::resume_part(context.session, part->what, part->object);
  return {to_row(*part),
          "Sending to " + selector_of(*part).substr(2) + (was ? " goes on." : " was not paused.")};
}

constexpr Option paused_entity{"entity", "N", "that entity alone"};
constexpr Option paused_webhook{"webhook", "N", "that webhook alone"};
constexpr Option paused_host{"host", "HOST", "all webhooks with that host in the URL, whatever the port"};

}  // namespace

std::vector<Command> queue_commands() {
  return {
      {.words = "queue status",
       .summary = "Show how much waits, is being sent, is held, failed or rejected",
       .details =
           "mas_antigua_s: seconds that the oldest pending notification or due delivery has waited "
           "(without deliveries\n"
           "of webhooks that rest, or that one of `pausas` stops).\n"
           "cortes: outages of this service itself (red: no host answers; dns: no name server does), as "
           "each dispatcher\nsees them. Delayed deliveries are sent when the outage is over, and count as no "
           "failure.\npausas: the entities, webhooks and hosts that `queue pause` has stopped.\n"
           "bloqueadas: notifications that have waited for a minute because another session keeps them "
           "locked; "
           "absent if\nthere are none.\n"
           "inserciones_bloqueadas: an INSERT of a notification waits for another session's lock, for so "
           "many seconds;\nabsent if none has waited for 3 s.\n"
           "aplazadas: notifications that wait for their no_antes_de.\n"
           "sin_despachador_s: how long ago a dispatcher last noted that it works; each does so every 10 s.\n"
           "With --check: one line and the exit status of a plugin of Nagios or Icinga: 0 good, 1 warning "
           "(the oldest\nwaits for --warning, or a part is paused), 2 critical (it waits for --critical, no "
           "dispatcher works, an outage,\na stop, locked notifications, blocked INSERTs, a clock that has "
           "jumped), 3 the "
           "database cannot be asked.\n"
           "With --watch: on a terminal, also the change per second since the last look; colours unless "
           "NO_COLOR is\n"
           "set. With --watch and --json: one object per line, with its time (hora).",
       .options = {.options = {{"watch", "", "again every 2 seconds, until Ctrl-C or SIGTERM"},
                               {"check", "", "one line and an exit status, for monitoring"},
                               {"warning", "DURATION", "with --check: from this wait on (default 60s)"},
                               {"critical", "DURATION", "with --check: from this wait on (default 10m)"}}},
       .example = "apientidades-admin queue status --check --critical 5m",
       .recorded = Recorded::never,
       .run = status},
      {.words = "queue pause",
       .summary = "Stop all sending (emergency stop), or sending to one entity, webhook or host",
       .details = "Attempts in flight are completed. The API and the evaluation system go on; what they "
                  "write waits,\nand loses no attempt of its schedule.\n"
                  "`queue status` and `webhook explain` show a pause of an entity, webhook or host.",
       .options = {.options = {paused_entity,
                               paused_webhook,
                               paused_host,
                               {"for", "DURATION",
                                "the pause ends after this time: 30m, 2h (default: at `queue resume`)"},
                               {"reason", "TEXT",
                                "what `queue status` shows as the reason, up to 200 characters"}}},
       .example =
           "apientidades-admin queue pause --host hooks.example.com --for 2h --reason 'their maintenance'",
       .recorded = Recorded::before,
       .run = pause},
      {.words = "queue resume",
       .summary =
           "Resume all sending (not what is paused separately), or sending to one entity, webhook or host",
       .options = {.options = {paused_entity, paused_webhook, paused_host}},
       .example = "apientidades-admin queue resume",
       .recorded = Recorded::before,
       .run = resume},
      {.words = "queue clock accept",
       .summary = "Believe the database's clock after a jump, so that retention continues",
       .details = "Until then nothing is purged. If the clock is wrong, set it right first. If it has gone "
                  "back, this\nmakes all that waits due: it might wait longer by the jump.",
       .example = "apientidades-admin queue clock accept",
       .recorded = Recorded::before,
       .run = accept_clock},
  };
}

}  // namespace admin
