// The implementation of store::transaction and store::transaction_past_duplicates.
#pragma once

#include <chrono>
#include <random>
#include <thread>
#include <type_traits>

namespace store {

namespace detail {
/// While this object exists, a further transaction() of the session becomes a part of the open transaction.
class OpenTransaction {
 public:
  explicit OpenTransaction(Session& session) : session_(session) { session_.in_transaction_ = true; }
  ~OpenTransaction() { session_.in_transaction_ = false; }
  OpenTransaction(const OpenTransaction&) = delete;
  OpenTransaction& operator=(const OpenTransaction&) = delete;
  static bool runs(const Session& session) { return session.in_transaction_; }

 private:
  Session& session_;
};

void rollback(Session& session) noexcept;
void commit_or_roll_back(Session& session);
/// Waits for a random time of at most 5 · 2^attempt ms, so that conflicting transactions do not meet again.
void back_off(unsigned attempt);
inline constexpr unsigned max_attempts = 5;
/// Simultaneous registrations can collide, at most once for each of the 5 webhooks of an entity.
inline constexpr unsigned most_duplicates = 8;

template <class F>
auto attempt_transaction(Session& session, F& body) {
  session.execute("START TRANSACTION");
  const OpenTransaction open(session);
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      session.execute("COMMIT");
    } else {
      auto result = body();
      session.execute("COMMIT");
      return result;
    }
  } catch (const CommittedRefusal&) {
    commit_or_roll_back(session);
    throw;
  } catch (...) {
    rollback(session);
    throw;
  }
}
}  // namespace detail

template <class F>
auto transaction(Session& session, F&& body) {
  if (detail::OpenTransaction::runs(session)) return body();
  for (unsigned attempt = 1;; ++attempt) {
    try {
      return detail::attempt_transaction(session, body);
    } catch (const LockTimeout&) {
      throw;
    } catch (const Interrupted&) {
      throw;
    } catch (const Conflict&) {
      if (attempt == detail::max_attempts) throw;
      detail::back_off(attempt);
    }
  }
}

template <class F>
auto transaction_past_duplicates(Session& session, F&& body) {
  for (unsigned repeats = 0;; ++repeats) {
    try {
      return transaction(session, body);
    } catch (const DuplicateKey&) {
      if (repeats == detail::most_duplicates || detail::OpenTransaction::runs(session)) throw;
    }
  }
}

}  // namespace store
