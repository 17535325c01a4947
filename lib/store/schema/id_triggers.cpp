#include "lib/store/schema/id_triggers.hpp"

#include <algorithm>

#include "lib/store/schema/triggers_sql.hpp"

namespace store {

std::string id_triggers_note(Session& session) {
  constexpr auto wanted = 2;  // as in packaging/apientidades-setup-database, which makes them
  const auto rows = session.query(R"sql(
    SELECT action_statement AS texto FROM information_schema.triggers
    WHERE trigger_schema = DATABASE() AND event_object_table = 'notificaciones_pendientes'
      AND definer LIKE 'apientidades\_triggers@%')sql");
  const auto good = std::ranges::count_if(
      rows, [](const auto& row) { return triggers_sql.find(row.text("texto")) != std::string_view::npos; });
  if (good == wanted) return {};
  return "database: a trigger of notificaciones_pendientes is missing or is not as sql/grants/triggers.sql "
         "makes "
         "it, so a writer may choose ids, or no writer may insert (apientidades-setup-database makes it)";
}

}  // namespace store
