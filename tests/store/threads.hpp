// Shared by the tests that use several sessions at once.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "tests/store/database.hpp"

namespace store::testing {

/// Runs `work` in a thread of its own. If `work` throws, join() fails the test. The destructor joins, too.
class ThreadedWork {
 public:
  explicit ThreadedWork(std::function<void()> work);
  ~ThreadedWork();
  ThreadedWork(const ThreadedWork&) = delete;
  ThreadedWork& operator=(const ThreadedWork&) = delete;
  void join();

 private:
  std::string error_;
  std::jthread thread_;
};

/// Runs `work` in `threads` threads at once, with the arguments 0, 1, …, and joins them.
void run_at_once(int threads, const std::function<void(int)>& work);

/// Runs `work` again after each lock time-out, as a client of the API would, and returns its result. On a
/// loaded machine, a session that waits for a lock behind many others may reach its time-out.
template <class F>
auto despite_lock_timeouts(F&& work) {
  for (;;) {
    try {
      return work();
    } catch (const LockTimeout&) {
    }
  }
}

/// A session that counts its errors in `errors`, except duplicate keys and lock time-outs.
Session connect_counting(const Database& database, std::atomic<int>& errors);

}  // namespace store::testing
