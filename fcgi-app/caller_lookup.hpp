// Looks up callers in the database, several requests in one statement.
#pragma once

#include <array>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace api {

/// One per process, shared by its threads. A look-up that finds none running starts at once, or after 200 µs
/// if the last one ended less than 1 ms ago. Look-ups that arrive during another one wait for its end and
/// then share one statement, `most_at_once` at most, because most of the cost is per statement. There is no
/// cache: the read for a request begins after the request arrived.
class CallerLookup {
 public:
  using Callers = std::vector<std::optional<store::Caller>>;
  using FindCallers =
      std::function<Callers(store::Session&, std::span<const store::TokenHash>, store::CallerWith)>;
  static constexpr std::size_t most_at_once = 16;

  /// Tests pass their own `find_callers`.
  explicit CallerLookup(store::Session session, FindCallers find_callers = store::find_callers)
      : session_(std::move(session)), find_callers_(std::move(find_callers)) {}

  /// Returns nullopt when no caller has the token. Throws store::Unavailable to all waiting look-ups, because
  /// each would fail in the same way later; throws any other error, of the database or of an entity's rows,
  /// only to the look-ups that it concerns.
  std::optional<store::Caller> find(const store::TokenHash& hash);

  /// Looks up at once on `session`, on which the request then writes: a lost connection is replaced before
  /// anything has changed.
  std::optional<store::Caller> find_alone(store::Session& session, const store::TokenHash& hash,
                                          store::CallerWith with) const;

  /// The number of look-ups that wait for a running one.
  std::size_t waiting();

 private:
  struct Request;

  Callers read(store::Session& session, std::span<const store::TokenHash> hashes,
               store::CallerWith with) const;
  /// The requests of one statement. It allocates nothing, because an exception here would leave the others
  /// waiting.
  struct Batch {
    std::array<Request*, most_at_once> requests{};
    std::size_t size = 0;
    std::span<Request* const> all() const { return {requests.data(), size}; }
  };
  Batch take();
  std::exception_ptr ask(std::span<Request* const> asked);
  void answer(std::span<Request* const> asked);
  void ask_for_all(const Request& own, std::unique_lock<std::mutex>& lock);

  store::Session session_;  // used by the thread that asks
  FindCallers find_callers_;
  std::mutex mutex_;
  bool asking_ = false;  // a thread asks, or has been told to
  platform::MonotonicTime last_end_{};
  std::vector<Request*> waiting_;  // in order of arrival; each is on its thread's stack
};

}  // namespace api
