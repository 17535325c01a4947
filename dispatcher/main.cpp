// apientidades-dispatcher: delivers the notifications that the evaluation system writes.
#include "loop.hpp"
#include "platform/program.hpp"
#include "platform/service_manager.hpp"

namespace {

int run(const platform::Config& config) {
  const auto& settings = config.settings;
  const platform::StopSignal stop;
  const platform::Log log(settings.log.level);
  auto keys =
      webhook::KeyRing::parse(platform::read_configured_file("secrets.key_file", settings.secrets.key_file));
  if (!settings.delivery.ca_file.empty())
    platform::read_configured_file("delivery.ca_file", settings.delivery.ca_file);
  dispatcher::Loop loop(settings, std::move(keys),
                        store::Session(settings.database, {"apientidades_dispatcher", 30}), log);
  loop.check_database();
  log.info("ready", {{"version", APIENTIDADES_VERSION}, {"max_in_flight", settings.delivery.max_in_flight}});
  platform::notify_service_manager("READY=1");
  loop.run(stop);
  platform::notify_service_manager("STOPPING=1");
  return platform::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  return platform::run_daemon(
      argc, argv,
      "Delivers the notifications written to notificaciones_pendientes as signed HTTPS POSTs.\n"
      "SIGTERM drains: what is in flight ends and is recorded, then it exits with 0.",
      run);
}
