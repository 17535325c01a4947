// Who calls, asked of the database for several requests at once.
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

/// One for all threads of a process. A look-up that finds none running goes to the database at once, or,
/// within a millisecond of the last one, after a fifth of one; those that come meanwhile wait for it to end
/// and then go together, as one statement, since most of a look-up's cost is that of a statement, whatever it
/// asks. Nothing is kept: every request is judged by a read that began after it came.
class CallerLookup {
 public:
  using Callers = std::vector<std::optional<store::Caller>>;
  using FindCallers =
      std::function<Callers(store::Session&, std::span<const store::TokenHash>, store::CallerWith)>;
  static constexpr std::size_t most_at_once = 16;

  /// `find_callers` is for tests without a database.
  explicit CallerLookup(store::Session session, FindCallers find_callers = store::find_callers)
      : session_(std::move(session)), find_callers_(std::move(find_callers)) {}

  /// nullopt: nobody's token. Throws store::Unavailable to all who wait, since they would learn the same, but
  /// later; any other error, of the database or of an entity's rows, to those alone whom it concerns.
  std::optional<store::Caller> find(const store::TokenHash& hash);

  /// At once and on `session`, for who goes on to write with it: a connection that was lost is thereby found
  /// out, and replaced, while nothing has happened yet.
  std::optional<store::Caller> find_alone(store::Session& session, const store::TokenHash& hash,
                                          store::CallerWith with) const;

  /// How many look-ups wait for a running one to end.
  std::size_t waiting();

 private:
  struct Request;

  Callers read(store::Session& session, std::span<const store::TokenHash> hashes,
               store::CallerWith with) const;
  /// So many as go together; nothing that allocates, since an exception here would leave the others waiting.
  struct Batch {
    std::array<Request*, most_at_once> requests{};
    std::size_t size = 0;
    std::span<Request* const> all() const { return {requests.data(), size}; }
  };
  Batch take();
  std::exception_ptr ask(std::span<Request* const> asked);
  void answer(std::span<Request* const> asked);
  void ask_for_all(const Request& own, std::unique_lock<std::mutex>& lock);

  store::Session session_;  // of whose turn it is
  FindCallers find_callers_;
  std::mutex mutex_;
  bool asking_ = false;  // somebody asks, or has been told that it is its turn
  platform::MonotonicTime last_end_{};
  std::vector<Request*> waiting_;  // in the order in which they came; each on its thread's stack
};

}  // namespace api
