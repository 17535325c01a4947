#include "fcgi-app/caller_lookup.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <thread>
#include <utility>

#include "store/session/repeat_if_lost.hpp"

namespace api {

struct CallerLookup::Request {
  explicit Request(const store::TokenHash& hash_) : hash(hash_) {}

  enum class State { waiting, its_turn, answered };

  store::TokenHash hash;
  State state = State::waiting;
  std::optional<store::Caller> caller{};
  std::exception_ptr error{};
  std::condition_variable changed{};

  /// With the mutex held, since the thread may end the request as soon as it sees the change.
  void become(State next) {
    state = next;
    changed.notify_one();
  }
};

namespace {

constexpr std::chrono::milliseconds rush(1);  // the last statement ended so short a time ago

/// When requests come one upon another, a moment's wait makes fewer statements of them, and the processor
/// time goes to those that are on their way here.
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
  if (asking_) own.changed.wait(lock, [&] { return own.state != Request::State::waiting; });
  if (own.state != Request::State::answered) {
    asking_ = true;
    const bool rushed = platform::monotonic_now() - last_end_ < rush;
    if (rushed && waiting_.size() < most_at_once) let_others_come(lock);
    const auto batch = take();
    lock.unlock();
    const auto away = ask(batch.all());
    lock.lock();
    finish(batch.all(), away);
    last_end_ = platform::monotonic_now();
  }
  lock.unlock();
  if (own.error) std::rethrow_exception(own.error);
  return std::move(own.caller);
}

std::optional<store::Caller> CallerLookup::find_alone(store::Session& session,
                                                      const store::TokenHash& hash) const {
  return std::move(read(session, {&hash, 1}).at(0));
}

CallerLookup::Callers CallerLookup::read(store::Session& session,
                                         std::span<const store::TokenHash> hashes) const {
  return store::repeat_if_lost(session, [&] { return find_callers_(session, hashes); });
}

std::size_t CallerLookup::waiting() {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

/// The oldest ones; whose turn it is, is one of them.
CallerLookup::Batch CallerLookup::take() {
  Batch batch;
  batch.size = std::min(waiting_.size(), most_at_once);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(batch.size);
  std::copy(waiting_.begin(), end, batch.requests.begin());
  waiting_.erase(waiting_.begin(), end);
  return batch;
}

/// The error if the database is away.
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
    // A row of one entity that cannot be read is no error of the others.
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
  auto callers = read(session_, hashes);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->caller = std::move(callers.at(i));
}

void CallerLookup::finish(std::span<Request* const> asked, const std::exception_ptr& away) {
  for (Request* request : asked) request->become(Request::State::answered);
  if (away) {
    for (Request* request : waiting_) {
      request->error = away;
      request->become(Request::State::answered);
    }
    waiting_.clear();
  }
  asking_ = !waiting_.empty();
  if (asking_) waiting_.front()->become(Request::State::its_turn);
}

}  // namespace api
