// apientidades-fcgi: answers the requests that nginx forwards over FastCGI.

#include <unistd.h>

#include <functional>
#include <stdexcept>

#include "fcgi-app/pool.hpp"
#include "lib/config/running_config.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/program/program.hpp"
#include "lib/program/reload.hpp"
#include "lib/store/programs.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/key_file.hpp"

namespace {

int listening_socket() {
  const auto socket = platform::inherited_listening_socket();
  if (!socket)
    throw std::runtime_error(
        "no listening socket was inherited: start apientidades-fcgi.socket with systemctl, or run it as "
        "`systemd-socket-activate -l PATH apientidades-fcgi`");
  return *socket;
}

int run(const config::Config& config, const program::Signals& signals,
        const std::function<config::Config()>& load) {
  const config::Settings& settings = config.settings;
  store::require_files(store::Program::api, settings);
  const platform::Log log(settings.log.level);
  api::Observation observation(settings.metrics, log);
  api::Shared shared{webhook::SharedKeys(webhook::read_key_file(settings.secrets.key_file)),
                     settings.delivery.host_overrides,
                     log,
                     observation,
                     settings.limits,
                     settings.delivery.disable_after,
                     webhook::operators_networks(settings.delivery),
                     settings.contact,
                     !settings.mail.server.empty()};
  const auto check = [&](const config::Config& next) {
    store::require_start(store::Program::api, next.settings);
  };
  program::Reload reload(signals.reload, config, load, check, log);
  const config::RunningNote note("apientidades-fcgi", config);
  const int listener = listening_socket();
  api::run_pool(listener, settings, shared, signals.stop, reload);
  // The program that starts anew finds the socket there (inherited_listening_socket).
  if (reload.wanted() && listener != STDIN_FILENO) ::dup2(listener, STDIN_FILENO);
  return reload.end();
}

}  // namespace

int main(int argc, char** argv) {
  const int status = program::run_daemon(
      argc, argv,
      "the API for entities, a FastCGI application behind nginx.\n"
      "SIGTERM finishes the requests in flight and exits with 0. SIGHUP reads secrets.key_file and "
      "the configuration again.",
      [&](const config::Config& config, const program::Signals& signals) {
        return run(config, signals, [&] { return program::load_daemon_config(argc, argv); });
      });
  return program::start_anew_if(status, argv);
}
