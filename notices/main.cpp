// apientidades-notices: tells the contacts of entities, and the operator, by mail. One run; a timer begins
// the next.
#include "lib/program/program.hpp"
#include "lib/store/programs.hpp"
#include "lib/webhook/key_file.hpp"
#include "notices/gather.hpp"
#include "notices/post.hpp"

namespace {

int run(const config::Config& config, const program::Signals& signals) {
  const auto& settings = config.settings;
  const platform::Log log(settings.log.level);
  if (settings.mail.server.empty()) {
    log.debug("mail.server is empty: no contact is told");
    return program::exit_done;
  }
  if (!settings.delivery.sandbox.empty()) {
    log.info("SANDBOX: delivery.sandbox is set: no contact is told");
    return program::exit_done;
  }
  const auto keys = webhook::read_key_file(settings.secrets.key_file);
  store::Session session(settings.database, {.program_user = store::database_user(store::Program::notices),
                                             .read_timeout_s = 30});
  store::require_database(store::Program::notices, session, log);
  const auto added = notices::gather(session, settings, signals.stop, log);
  const auto posted = notices::post(session, settings, keys, signals.stop, log);
  if (added + posted.sent + posted.deferred + posted.refused > 0)
    log.info("run ended", {{"notices", added},
                           {"sent", posted.sent},
                           {"deferred", posted.deferred},
                           {"refused", posted.refused}});
  return program::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_daemon(
      argc, argv,
      "Tells the contacts of the entities, and the operator, by mail what happens to their webhooks.\n"
      "Decides from the tables what must be told, sends what is due, and ends; a timer runs it every "
      "minute.\n"
      "With mail.server empty, or with delivery.sandbox, it does nothing.",
      run);
}
