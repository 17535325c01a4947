// audit list

#include "store/audit/audit.hpp"
#include "admin/commands.hpp"
#include "admin/filter.hpp"
#include "admin/render.hpp"

namespace admin {

namespace {

webhook::json::Value object_of(const store::AuditEntry& entry) {
  if (entry.object) return *entry.object;
  return entry.webhook ? webhook::json::Value("webhook " + std::to_string(*entry.webhook)) : nullptr;
}

webhook::json::Object to_row(const store::AuditEntry& entry) {
  return {{"id", entry.id},          {"cuando", time_value(entry.at)}, {"entidad_id", entry.entity},
          {"token_id", entry.token}, {"accion", entry.action},         {"objeto", object_of(entry)},
          {"detalle", entry.detail}, {"operador", entry.operator_name}};
}

Result list(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, {}, platform::utc_now());
  return list_result(store::list_audit(context.session, one_more(filter)), filter, to_row);
}

}  // namespace

std::vector<Command> audit_commands() {
  return {
      {.words = "audit list",
       .summary = "List what entities and operators changed: id, cuando, entidad_id, token_id, accion, "
                  "objeto, detalle, operador",
       .details = "As far back as retention.audit (90d). accion: alta, cambio, secreto, baja, reenvio; of an "
                  "operator the command, and operador who ran it. "
                  "detalle: what it was and "
                  "what it became.",
       .options = {.options = {entity_filter, webhook_filter, since_filter, limit_filter}},
       .example = "apientidades-admin audit list --entity 7 --since 2d",
       .recorded = Recorded::never,
       .run = list},
  };
}

}  // namespace admin
