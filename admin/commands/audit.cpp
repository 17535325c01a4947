// audit list

#include "lib/store/audit/audit.hpp"

#include <algorithm>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/output/render.hpp"

namespace admin {

namespace {

constexpr Option action_filter{
    "action", "A", "only this action: alta, cambio, secreto, baja, reenvio, diagnostico, or a command"};

json::Value object_of(const store::AuditEntry& entry) {
  if (entry.object) return *entry.object;
  return entry.webhook ? json::Value("webhook " + to_string(*entry.webhook)) : nullptr;
}

json::Object to_row(const store::AuditEntry& entry) {
  return {{"id", entry.id},
          {"cuando", time_value(entry.at)},
          {"entidad_id", entry.entity},
          {"token_id", entry.token},
          {"accion", entry.action},
          {"objeto", object_of(entry)},
          {"detalle", entry.detail},
          {"operador", entry.operator_name},
          {"veces", entry.times},
          {"ultima_vez", time_value(entry.last)}};
}

bool is_audited(std::string_view action) {
  return std::ranges::find(store::audited_actions, action) != store::audited_actions.end() ||
         std::ranges::find(all_commands(), action, &Command::words) != all_commands().end();
}

std::optional<std::string> checked_action(const Arguments& arguments) {
  auto typed = arguments.text("action");
  if (!typed || is_audited(*typed)) return typed;
  std::string allowed;
  for (const auto action : store::audited_actions) allowed.append(action).append(", ");
  throw UsageError("--action must be one of " + allowed + "or a command ('token issue'), not '" + *typed +
                   "'");
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
       .summary =
           "List who changed what: id, cuando, entidad_id, token_id, accion, objeto, detalle, operador",
       .details =
           "Goes back as far as retention.audit (90d). accion: alta, cambio, secreto, baja, reenvio, "
           "diagnostico; for an operator's entry, accion is the command and operador is who ran it. "
           "detalle: the change, as JSON. Repetitions of an action by one token on one webhook within the "
           "same UTC clock hour share a row (veces, ultima_vez).",
       .options = {.options = {action_filter, entity_filter, webhook_filter, since_filter, limit_filter}},
       .example = "apientidades-admin audit list --action reenvio --entity 7 --since 2d",
       .recorded = Recorded::never,
       .run = list},
  };
}

}  // namespace admin
