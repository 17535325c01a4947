// replay list|cancel

#include <algorithm>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/output/render.hpp"
#include "lib/store/replays/replays.hpp"

namespace admin {

namespace {

constexpr std::string_view states[] = {"pendiente", "en_curso", "terminado", "cancelado"};

json::Object to_row(const store::ReplayProgress& replay) {
  return {{"id", replay.replay.id},
          {"entidad_id", replay.entity},
          {"webhook_id", replay.webhook},
          {"entrega_id", replay.delivery},
          {"estado", replay.replay.state},
          {"candidatas", static_cast<std::int64_t>(replay.candidates)},
          {"reenviadas", static_cast<std::int64_t>(replay.replayed)},
          {"pedido_en", time_value(replay.asked)}};
}

Result list(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, states, platform::utc_now());
  return list_result(store::list_replays(context.session, one_more(filter)), filter, to_row);
}

Failure over(const store::ReplayProgress& replay) {
  return Failure("replay " + to_string(replay.replay.id) + " is over: it is " + replay.replay.state);
}

Result preview_cancel(store::Session& session, store::WebhookId webhook, store::ReplayId id) {
  const auto replay = store::find_replay(session, webhook, id).value();
  if (replay.replay.state != "pendiente" && replay.replay.state != "en_curso") throw over(replay);
  const auto left = replay.candidates - std::min(replay.candidates, replay.replayed);
  return {simulated(to_row(replay)),
          "Replay " + to_string(id) +
              " would be cancelado; deliveries not replayed: " + std::to_string(left) + "."};
}

Result cancel(Context& context, const Arguments& arguments) {
  const store::ReplayId id = arguments.required_id();
  const auto webhook = store::webhook_of_replay(context.session, id);
  if (!webhook) throw Failure("there is no replay " + to_string(id) + ": `replay list` shows them");
  if (arguments.is_dry_run()) return preview_cancel(context.session, *webhook, id);
  const bool stopped = store::cancel_replay(context.session, {}, *webhook, id);
  const auto replay = store::find_replay(context.session, *webhook, id).value();
  if (!stopped) throw over(replay);
  return {to_row(replay), "Replay " + to_string(id) + " is cancelado; deliveries it had made due: " +
                              std::to_string(replay.replayed) + "."};
}

}  // namespace

std::vector<Command> replay_commands() {
  return {
      {.words = "replay list",
       .summary = "List the replays that entities have asked for: of one delivery (entrega_id), or of many",
       .details = "Goes back as far as retention.delivered. reenviadas: how many of the candidatas have been "
                  "made due so far.",
       .options = {.options = {entity_filter,
                               webhook_filter,
                               {"state", "STATE", "only these: pendiente, en_curso, terminado, cancelado"},
                               since_filter,
                               limit_filter}},
       .example = "apientidades-admin replay list --state en_curso",
       .recorded = Recorded::never,
       .run = list},
      {.words = "replay cancel",
       .summary = "Stop a replay: deliveries that it has already replayed go on, and no more follow",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin replay cancel 5",
       .recorded = Recorded::in_transaction,
       .run = cancel},
  };
}

}  // namespace admin
