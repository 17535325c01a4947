// db migrate|status

#include <ostream>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/output/render.hpp"
#include "lib/store/schema/migrations.hpp"
#include "lib/store/session/requirements.hpp"

namespace admin {

namespace {

constexpr Option migrations_option{"migrations", "DIR",
                                   "the folder of NNNN_name.sql files (" APIENTIDADES_MIGRATIONS ")"};

constexpr Option tries_option{"tries", "N",
                              "the number of tries, 13 s apart, on a table that others keep locked (12)"};

std::vector<store::Migration> read(const Arguments& arguments) try {
  return store::read_migrations(arguments.text("migrations").value_or(APIENTIDADES_MIGRATIONS));
} catch (const store::MigrationError& e) {
  throw UsageError(std::string(e.what()) + " (--migrations DIR names the folder)");
}

std::string in_all(std::size_t count) { return " of " + std::to_string(count) + " migrations"; }

Result migrate(Context& context, const Arguments& arguments) {
  const auto migrations = read(arguments);
  // No read time-out, because a change of a big table may take hours.
  store::Session session(context.config.settings.database, {std::string(database_user), 0});
  store::Session guard_session(context.config.settings.database, {std::string(database_user)});
  store::MigrationTimes times;
  times.patience.tries =
      static_cast<int>(arguments.integer("tries", 1, 100000).value_or(times.patience.tries));
  const auto& output = context.output;
  const auto progress = [&](const std::string& line) {
    if (!output.json) output.out << line << std::endl;
  };
  store::require_server(session);  // a server that lacks something would stop a migration half-way
  const auto applied = store::migrate(session, migrations, guard_session, progress, times);
  json::Array names(applied.begin(), applied.end());
  return {json::Object{{"aplicadas", std::move(names)}},
          applied.empty()
              ? "nothing to do: all " + std::to_string(migrations.size()) + " migrations are applied"
              : std::to_string(applied.size()) + in_all(migrations.size()) + " applied"};
}

Result status(Context& context, const Arguments& arguments) {
  const auto states = store::migration_status(context.session, read(arguments));
  json::Array rows;
  std::size_t pending = 0;
  for (const auto& state : states) {
    rows.push_back(json::Object{
        {"numero", state.number}, {"nombre", state.name}, {"aplicada", time_value(state.applied)}});
    pending += state.applied ? 0 : 1;
  }
  Result result{std::move(rows)};
  if (pending > 0)
    result.note = std::to_string(pending) + in_all(states.size()) + " to be applied: db migrate";
  return result;
}

}  // namespace

std::vector<Command> db_commands() {
  return {
      {.words = "db migrate",
       .summary = "Bring the tables up to date: apply the migrations that are missing",
       .details =
           "Can be run at any time, also several times at once: one run works, the others wait for it.\n"
           "A migration that was cut short is repeated.\n"
           "A run waits 3 s at a time for a table in use, so that others go on in between, and tells how to\n"
           "find the transaction that uses it. After the last try the table is unchanged; exit status 1.",
       .options = {.options = {migrations_option, tries_option}},
       .example = "apientidades-admin db migrate",
       .recorded = Recorded::after,
       .run = migrate},
      {.words = "db status",
       .summary = "List the migrations and when each was applied",
       .options = {.options = {migrations_option}},
       .example = "apientidades-admin db status",
       .recorded = Recorded::never,
       .run = status},
  };
}

}  // namespace admin
