#include "fcgi-app/caller_lookup.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "lib/store/session/repeat_if_lost.hpp"

namespace api {

struct CallerLookup::Request {
  explicit Request(const store::TokenHash& hash_) : hash(hash_) {}

  enum class Told { its_turn, answered };

  store::TokenHash hash;
  std::optional<store::Caller> caller{};
  std::exception_ptr error{};

  void tell(Told what) {
    const auto signal = signal_;  // kept alive, because the notified thread may destroy the request at once
    {
      const std::scoped_lock lock(signal->mutex);
      signal->told = what;
    }
    signal->changed.notify_one();
  }

  Told wait() {
    std::unique_lock lock(signal_->mutex);
    signal_->changed.wait(lock, [this] { return signal_->told.has_value(); });
    return *signal_->told;
  }

 private:
  /// Each request has its own mutex. If they all waited with CallerLookup's mutex, a woken thread could find
  /// it locked, and sleep again.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Told> told;
  };
  std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
};

namespace {

constexpr std::chrono::milliseconds rush(1);  // a shorter time since the last statement means a rush
constexpr std::size_t enough = 8;             // with this many requests, a wait costs more than it saves

/// Waits briefly, so that other threads can add their requests to the next statement.
void let_others_come(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::microseconds moment(200);
  lock.unlock();
  std::this_thread::sleep_for(moment);
  lock.lock();
}

}  // namespace

std::optional<store::Caller> CallerLookup::find(const store::TokenHash& hash) {
  Request own(hash);
  std::unique_lock lock(mutex_);
  waiting_.push_back(&own);
  auto told = Request::Told::its_turn;
  if (std::exchange(asking_, true)) {
    lock.unlock();
    told = own.wait();
    if (told == Request::Told::its_turn) lock.lock();
  }
  if (told == Request::Told::its_turn) ask_for_all(own, lock);
  if (own.error) std::rethrow_exception(own.error);
  return std::move(own.caller);
}

/// Runs one statement for the oldest requests, `own` among them, and wakes their threads. `lock` must hold
/// the mutex, and is unlocked on return.
void CallerLookup::ask_for_all(const Request& own, std::unique_lock<std::mutex>& lock) {
  const bool rushed = platform::monotonic_now() - last_end_ < rush;
  if (rushed && waiting_.size() < enough) let_others_come(lock);
  const auto batch = take();
  lock.unlock();
  const auto away = ask(batch.all());
  lock.lock();
  last_end_ = platform::monotonic_now();
  std::vector<Request*> refused;
  if (away) refused.swap(waiting_);
  asking_ = !waiting_.empty();
  Request* const next = asking_ ? waiting_.front() : nullptr;
  // The mutex is unlocked first. Otherwise a woken thread could preempt this thread while it holds the mutex,
  // and all other threads would wait.
  lock.unlock();
  if (next != nullptr) next->tell(Request::Told::its_turn);
  for (Request* request : batch.all())
    if (request != &own) request->tell(Request::Told::answered);
  for (Request* request : refused) {
    request->error = away;
    request->tell(Request::Told::answered);
  }
}

std::optional<store::Caller> CallerLookup::find_alone(store::Session& session, const store::TokenHash& hash,
                                                      store::CallerWith with) const {
  return std::move(read(session, {&hash, 1}, with).at(0));
}

CallerLookup::Callers CallerLookup::read(store::Session& session, std::span<const store::TokenHash> hashes,
                                         store::CallerWith with) const {
  return store::repeat_if_lost(session, [&] { return find_callers_(session, hashes, with); });
}

std::size_t CallerLookup::waiting() {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

/// Takes the oldest requests. The calling thread's own is the first.
CallerLookup::Batch CallerLookup::take() {
  Batch batch;
  batch.size = std::min(waiting_.size(), most_at_once);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch.size);
  std::copy(waiting_.begin(), end, batch.requests.begin());
  waiting_.erase(waiting_.begin(), end);
  return batch;
}

/// Gives each request its caller or its error. Returns the error if the database is unavailable, else null.
std::exception_ptr CallerLookup::ask(std::span<Request* const> asked) {
  const auto fail = [&](const std::exception_ptr& error) {
    for (Request* request : asked) request->error = error;
    return error;
  };
  try {
    answer(asked);
  } catch (const store::Unavailable&) {
    return fail(std::current_exception());
  } catch (...) {
    if (asked.size() == 1) {
      fail(std::current_exception());
      return nullptr;
    }
    // An unreadable row of one entity must not fail the other look-ups, so each request is looked up alone.
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (auto away = ask(asked.subspan(i, 1))) {
        for (Request* request : asked.subspan(i)) request->error = away;
        return away;
      }
    }
  }
  return nullptr;
}

void CallerLookup::answer(std::span<Request* const> asked) {
  std::vector<store::TokenHash> hashes;
  hashes.reserve(asked.size());
  for (const Request* request : asked) hashes.push_back(request->hash);
  auto callers = read(session_, hashes, store::CallerWith::webhooks);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->caller = std::move(callers.at(i));
}

}  // namespace api
