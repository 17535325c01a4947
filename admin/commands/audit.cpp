// audit list

#include "store/audit/audit.hpp"

#include <algorithm>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/filter.hpp"
#include "admin/render.hpp"

namespace admin {

namespace {

constexpr Option action_filter{"action", "A", "only alta, cambio, secreto, baja or reenvio"};

webhook::json::Object to_row(const store::AuditEntry& entry) {
  return {
      {"id", entry.id},
      {"cuando", time_value(entry.at)},
      {"entidad_id", entry.entity},
      {"token_id", entry.token},
      {"accion", entry.action},
      {"objeto", entry.webhook ? webhook::json::Value("webhook " + std::to_string(*entry.webhook)) : nullptr},
      {"detalle", entry.detail},
      {"veces", entry.times},
      {"ultima_vez", time_value(entry.last)}};
}

std::optional<std::string> checked_action(const Arguments& arguments) {
  auto typed = arguments.text("action");
  if (!typed || std::ranges::find(store::audited_actions, *typed) != store::audited_actions.end())
    return typed;
  std::string allowed;
  for (const auto action : store::audited_actions) allowed.append(allowed.empty() ? "" : ", ").append(action);
  throw UsageError("--action must be one of " + allowed + ", not '" + *typed + "'");
}

Result list(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, {}, platform::utc_now());
  const auto action = checked_action(arguments);
  return list_result(store::list_audit(context.session, one_more(filter), action), filter, to_row);
}

}  // namespace

std::vector<Command> audit_commands() {
  return {
      {.words = "audit list",
       .summary = "List what entities changed: id, cuando, entidad_id, token_id, accion, objeto, detalle, "
                  "veces, ultima_vez",
       .details = "As far back as retention.audit (90d). accion: alta, cambio, secreto, baja, reenvio. "
                  "detalle: what it was and "
                  "what it became. What a token does to a webhook again within an hour is counted (veces).",
       .options = {.options = {action_filter, entity_filter, webhook_filter, since_filter, limit_filter}},
       .example = "apientidades-admin audit list --action reenvio --entity 7 --since 2d",
       .run = list},
  };
}

}  // namespace admin
