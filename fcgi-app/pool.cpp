#include "fcgi-app/pool.hpp"

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include "fcgi-app/http/fastcgi.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/platform/watchdog.hpp"
#include "lib/store/programs.hpp"
#include "lib/store/session/wait_for_database.hpp"
#include "lib/webhook/key_file.hpp"

namespace api {
namespace {

constexpr int report_interval_ms = 2000;

store::Session make_session(const config::Settings& settings, const Shared& shared,
                            store::SessionOptions options) {
  return {settings.database, shared.observation.errors.observed(std::move(options), shared.log)};
}

/// A session of the workers. The heartbeat beats at each statement, so that the watchdog does not take a
/// request with many slow statements for a hang.
store::Session make_worker_session(const config::Settings& settings, const Shared& shared,
                                   platform::Heartbeat& heartbeat, store::SessionOptions options) {
  auto session = make_session(settings, shared, std::move(options));
  session.before_statements([&heartbeat] { heartbeat.beat(); });
  return session;
}

/// The session for look-ups that all threads share. Its time-out is short, because all threads wait while the
/// database server is silent.
store::Session make_lookup_session(const config::Settings& settings, const Shared& shared,
                                   platform::Heartbeat& heartbeat) {
  return make_worker_session(settings, shared, heartbeat,
                             {.program_user = "apientidades_api", .read_timeout_s = 5});
}

std::vector<Service> make_services(const config::Settings& settings, const Shared& shared,
                                   CallerLookup& callers, RequestPlaces& places,
                                   platform::Heartbeat& heartbeat) {
  std::vector<Service> services;
  services.reserve(settings.api.threads);
  for (unsigned i = 0; i < settings.api.threads; ++i)
    services.emplace_back(
        shared, callers, places,
        make_worker_session(settings, shared, heartbeat, {.program_user = "apientidades_api"}));
  return services;
}

/// Stops all threads of this process, which end at SIGTERM. A failed thread calls this, because the pool must
/// not lose threads unnoticed.
void request_stop() { ::kill(::getpid(), SIGTERM); }

/// Gives the memory of a burst of requests back to the system when requests stop; glibc alone would keep it.
class Memory {
 public:
  explicit Memory(const Observation& seen) : seen_(seen) {}

  /// Trims when requests stop, and again when the threads have closed their sessions.
  void tidy() {
    // The number of calls in 40 s. A thread closes its session after 30 s without use.
    constexpr unsigned sessions_closed = 40'000 / report_interval_ms;
    const std::uint64_t answered = seen_.answered;
    idle_looks_ = answered == answered_ ? idle_looks_ + 1 : 0;
    answered_ = answered;
    if (idle_looks_ == 1 || idle_looks_ == sessions_closed) ::malloc_trim(0);
  }

 private:
  const Observation& seen_;
  std::uint64_t answered_ = 0;  // at the last call
  unsigned idle_looks_ = 0;     // calls since the last one that found new requests
};

class Workers {
 public:
  /// `heartbeat` beats while at least one thread makes progress.
  Workers(std::vector<Service>& services, RequestPlaces& places, platform::Heartbeat& heartbeat,
          int listener_fd, const Shared& shared, const platform::StopSignal& stop)
      : places_(places), heartbeat_(heartbeat) {
    threads_.reserve(services.size());
    try {
      for (Service& service : services)
        threads_.emplace_back(
            [this, &service, listener_fd, &shared, &stop] { work(service, listener_fd, shared, stop); });
    } catch (const std::system_error&) {  // the system allows no more threads
      request_stop();
      throw;
    }
  }

  /// Stops the threads and waits for them, also when watch() has thrown.
  ~Workers() {
    if (!threads_.empty()) request_stop();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Waits until all threads have ended. True: no thread failed.
  bool join() {
    threads_.clear();
    return !failed_;
  }

 private:
  void work(Service& service, int listener_fd, const Shared& shared, const platform::StopSignal& stop) {
    try {
      serve_fastcgi(listener_fd, stop.fd(), service, places_, shared.log, heartbeat_);
    } catch (const std::exception& e) {
      shared.log.error("worker failed", {{"error", e.what()}});
      failed_ = true;
      request_stop();
    }
  }

  RequestPlaces& places_;
  std::atomic<bool> failed_ = false;
  platform::Heartbeat& heartbeat_;
  std::vector<std::jthread> threads_;
};

/// Runs until the stop signal. Logs problems of the database at the start, so that the operator sees them
/// without a request; later failures reach clients as answers.
void watch(const platform::Heartbeat& heartbeat, const config::Settings& settings, Shared& shared,
           const platform::StopSignal& stop, program::Reload& reload) {
  platform::Watchdog watchdog;
  const auto feed = [&] { watchdog.feed_if({heartbeat}, platform::monotonic_now()); };
  const auto between = [&] {
    feed();
    if (reload.take()) webhook::reload_keys(shared.keys, settings.secrets.key_file, shared.log);
  };
  auto session = make_session(settings, shared, {.program_user = "apientidades_api"});
  session.before_statements(feed);  // feeds the watchdog even if all statements are slow
  const auto check = [&] { store::require_database(store::Program::api, session, shared.log); };
  if (!store::wait_for_database(check, stop, between, shared.log)) return;
  session.disconnect();
  platform::StatusLine status(shared.log);
  Memory memory(shared.observation);
  const int longest_ms =
      static_cast<int>(std::min<std::int64_t>(report_interval_ms, watchdog.interval().count()));
  while (!stop.requested()) {
    between();
    status.report(std::string(reload.refusal()) + shared.observation.status(settings.api.threads));
    memory.tidy();
    std::array<pollfd, 2> signals{pollfd{stop.fd(), POLLIN, 0}, pollfd{reload.fd(), POLLIN, 0}};
    ::poll(signals.data(), signals.size(), longest_ms);
  }
}

}  // namespace

void run_pool(int listener_fd, const config::Settings& settings, Shared& shared,
              const platform::StopSignal& stop, program::Reload& reload) {
  constexpr int arenas = 2;
  ::mallopt(M_ARENA_MAX, arenas);  // must precede the first thread
  prepare_fastcgi(listener_fd);
  platform::Heartbeat heartbeat;
  CallerLookup callers(make_lookup_session(settings, shared, heartbeat));
  RequestPlaces places(concurrency_limits(settings.api.threads));
  auto services = make_services(settings, shared, callers, places, heartbeat);
  Workers workers(services, places, heartbeat, listener_fd, shared, stop);
  shared.log.info("ready", {{"threads", services.size()}});
  platform::notify_service_manager("READY=1");
  watch(heartbeat, settings, shared, stop, reload);
  shared.log.info("stopping");
  if (!reload.wanted()) platform::notify_service_manager("STOPPING=1");
  if (!workers.join()) throw std::runtime_error("a worker thread failed; the log says why");
  shared.log.info("stopped");
}

}  // namespace api
