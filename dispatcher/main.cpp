// apientidades-dispatcher: delivers the notifications that the evaluation system writes.
#include "loop.hpp"
#include "platform/file.hpp"
#include "platform/program.hpp"
#include "platform/service_manager.hpp"

namespace {

webhook::KeyRing read_keys(const platform::SecretsSettings& settings) {
  try {
    return webhook::KeyRing::parse(platform::read_file(settings.key_file));
  } catch (const platform::FileError& error) {
    throw platform::ConfigError(std::string("secrets.key_file: ") + error.what());
  } catch (const webhook::KeyFileError& error) {
    throw platform::ConfigError("secrets.key_file: " + settings.key_file + ": " + error.what());
  }
}

void check_ca_file(const platform::DeliverySettings& settings) {
  if (settings.ca_file.empty()) return;
  try {
    platform::read_file(settings.ca_file);
  } catch (const platform::FileError& error) {
    throw platform::ConfigError(std::string("delivery.ca_file: ") + error.what());
  }
}

int run(const platform::Config& config) {
  const auto& settings = config.settings;
  const platform::StopSignal stop;
  const platform::Log log(settings.log.level);
  auto keys = read_keys(settings.secrets);
  check_ca_file(settings.delivery);
  dispatcher::Loop loop(settings, std::move(keys),
                        store::Session(settings.database, {"apientidades_dispatcher", 30}), log);
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
