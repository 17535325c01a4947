#include "lib/store/schema/id_triggers.hpp"

#include <set>
#include <string_view>

#include "lib/store/schema/triggers_sql.hpp"

namespace store {

namespace {

/// Without the right TRIGGER, information_schema shows no trigger.
bool sees_triggers(Session& session) {
  return !session
              .query(R"sql(
    SELECT 1 AS ve FROM information_schema.user_privileges WHERE privilege_type = 'TRIGGER'
    UNION SELECT 1 FROM information_schema.schema_privileges
    WHERE privilege_type = 'TRIGGER' AND DATABASE() LIKE table_schema
    UNION SELECT 1 FROM information_schema.table_privileges
    WHERE privilege_type = 'TRIGGER' AND table_schema = DATABASE() AND table_name = 'notificaciones_pendientes'
  )sql")
              .empty();
}

}  // namespace

std::string id_triggers_note(Session& session) {
  constexpr auto wanted = 3;   // as in packaging/apientidades-setup-database, which makes them
  std::set<std::string> good;  // tables, and BEFORE or AFTER
  for (const auto& row : session.query(R"sql(
    SELECT CONCAT(event_object_table, ' ', action_timing) AS momento, action_statement AS texto FROM information_schema.triggers
    WHERE trigger_schema = DATABASE() AND event_object_table IN ('notificaciones_pendientes', 'notificaciones_anuladas')
      AND event_manipulation = 'INSERT' AND definer LIKE 'apientidades\_triggers@%')sql"))
    if (triggers_sql.find(row.text("texto")) != std::string_view::npos) good.insert(row.text("momento"));
  if (good.size() == wanted) return {};
  if (!sees_triggers(session))
    return "database: the triggers of notificaciones_pendientes could not be checked: this account lacks the "
           "right TRIGGER (sql/grants/admin.sql)";
  return "database: a trigger of notificaciones_pendientes is missing or is not as sql/grants/triggers.sql "
         "makes "
         "it, so a writer may choose ids, or no writer may insert (apientidades-setup-database makes it)";
}

}  // namespace store
