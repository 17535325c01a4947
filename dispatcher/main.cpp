// apientidades-dispatcher: delivers the notifications that the evaluation system writes.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include "dispatcher/http/descriptors.hpp"
#include "dispatcher/http/source.hpp"
#include "dispatcher/loop.hpp"
#include "dispatcher/observation/observation.hpp"
#include "lib/config/running_config.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/program/program.hpp"
#include "lib/program/reload.hpp"
#include "lib/store/programs.hpp"
#include "lib/webhook/authorities.hpp"
#include "lib/webhook/key_file.hpp"

namespace {

/// Fills in the default CA bundle, and checks what depends on this host: files, file descriptors, source
/// addresses. Throws ConfigError, or std::runtime_error if the problem may end by itself.
config::Settings prepare(config::Settings settings) {
  settings.delivery.ca_file = webhook::receivers_ca_file(settings.delivery);
  store::require_files(store::Program::dispatcher, settings);
  dispatcher::require_descriptors(settings.delivery.max_in_flight, dispatcher::most_test_requests);
  dispatcher::require_source_addresses(settings.delivery);
  return settings;
}

/// Throws ConfigError if root, not the unit, starts the program with the configuration of the unit.
void refuse_root(std::span<const char* const> arguments) {
  const auto names_file = [](std::string_view argument) { return argument.starts_with("--config"); };
  if (::geteuid() == 0 && std::ranges::none_of(arguments, names_file))
    throw config::ConfigError(
        "root may start it only with --config FILE; systemctl start apientidades-dispatcher starts it as its "
        "own user");
}

int run(const config::Config& config, const program::Signals& signals,
        const std::function<config::Config()>& load) {
  const auto settings = prepare(config.settings);
  const platform::Log log(settings.log.level);
  const auto check = [&](const config::Config& next) {
    store::require_start(store::Program::dispatcher, prepare(next.settings));
  };
  program::Reload reload(signals.reload, config, load, check, log);
  const config::RunningNote note("apientidades-dispatcher", config);
  dispatcher::Observation observation(settings, log);
  const auto session = [&] {
    return store::Session(
        settings.database,
        observation.errors().observed(
            {.program_user = "apientidades_dispatcher", .read_timeout_s = 30, .lock_wait_s = 1}, log));
  };
  dispatcher::Loop loop(settings, webhook::read_key_file(settings.secrets.key_file), session(), session(),
                        log, observation.metrics());
  log.info("ready", {{"version", APIENTIDADES_VERSION}, {"max_in_flight", settings.delivery.max_in_flight}});
  if (!settings.delivery.sandbox.empty())
    log.warning("SANDBOX: only the hosts of delivery.sandbox are reached; deliveries to others are not sent");
  platform::notify_service_manager("READY=1");
  observation.start(signals.stop, reload);
  loop.run(signals.stop, reload);
  return reload.end();
}

}  // namespace

int main(int argc, char** argv) {
  const int status = program::run_daemon(
      argc, argv,
      "Delivers the notifications written to notificaciones_pendientes as signed HTTPS POSTs.\n"
      "SIGTERM drains: attempts in flight are completed and recorded, then the program exits with 0.\n"
      "SIGHUP reads secrets.key_file and the configuration again. As root it starts only if --config names a "
      "file.",
      [&](const config::Config& config, const program::Signals& signals) {
        refuse_root({argv, static_cast<std::size_t>(argc)});
        return run(config, signals, [&] { return program::load_daemon_config(argc, argv); });
      });
  return program::start_anew_if(status, argv);
}
