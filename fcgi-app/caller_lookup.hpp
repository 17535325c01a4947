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

/// One per process, shared by its threads. While no statement runs, a look-up starts a statement. If the
/// previous statement ended less than 1 ms ago, and fewer than 8 look-ups wait, the look-up first gives
/// others 200 µs to join. Look-ups that arrive during a statement share the next statement, because most of
/// the cost is per statement. A statement serves at most `most_at_once` look-ups. There is no cache: a
/// request's statement begins after the request arrived.
class CallerLookup {
 public:
  using Callers = std::vector<std::optional<store::Caller>>;
  using FindCallers =
      std::function<Callers(store::Session&, std::span<const store::TokenHash>, store::CallerWith)>;
  static constexpr std::size_t most_at_once = 16;

  /// Tests pass their own `find_callers`.
  explicit CallerLookup(store::Session session, FindCallers find_callers = store::find_callers)
      : session_(std::move(session)), find_callers_(std::move(find_callers)) {}

  /// Returns nullopt when no caller has the token. If the database is unavailable, throws store::Unavailable
  /// to all waiting look-ups, because each would fail in the same way. Any other error, of the database or of
  /// an entity's rows, reaches only the look-ups that met it.
  std::optional<store::Caller> find(const store::TokenHash& hash);

  /// Looks up at once, on the session that the request will write with. A lost connection is thus replaced
  /// before the request has changed anything.
  std::optional<store::Caller> find_alone(store::Session& session, const store::TokenHash& hash,
                                          store::CallerWith with) const;

  /// The number of look-ups that are not yet part of a statement.
  std::size_t waiting();

 private:
  struct Request;

  Callers read(store::Session& session, std::span<const store::TokenHash> hashes,
               store::CallerWith with) const;
  /// The requests of one statement. A Batch allocates nothing: an exception while it is made would leave the
  /// other threads waiting.
  struct Batch {
    std::array<Request*, most_at_once> requests{};
    std::size_t size = 0;
    std::span<Request* const> all() const { return {requests.data(), size}; }
  };
  Batch take();
  std::exception_ptr ask(std::span<Request* const> asked);
  void answer(std::span<Request* const> asked);
  void ask_for_all(const Request& own, std::unique_lock<std::mutex>& lock);

  store::Session session_;  // used only by the thread that runs the statement
  FindCallers find_callers_;
  std::mutex mutex_;
  bool asking_ = false;  // a thread runs a statement, or has been told to
  platform::MonotonicTime last_end_{};
  std::vector<Request*> waiting_;  // in order of arrival; each is on its thread's stack
};

}  // namespace api
