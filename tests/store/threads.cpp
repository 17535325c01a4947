#include "tests/store/threads.hpp"

#include <boost/test/unit_test.hpp>
#include <deque>

namespace store::testing {

ThreadedWork::ThreadedWork(std::function<void()> work)
    : thread_([this, work = std::move(work)] {
        try {
          work();
        } catch (const std::exception& error) {
          error_ = error.what();
        }
      }) {}

ThreadedWork::~ThreadedWork() { join(); }

void ThreadedWork::join() {
  if (!thread_.joinable()) return;
  thread_.join();
  BOOST_CHECK_MESSAGE(error_.empty(), "a thread has thrown: " << error_);
}

void run_at_once(int threads, const std::function<void(int)>& work) {
  std::deque<ThreadedWork> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&work, i] { work(i); });
}

Session connect_counting(const Database& database, std::atomic<int>& errors) {
  return {server(database.name), {.program_user = "root", .on_error = [&errors](const DatabaseError& error) {
                                    if (error.code != lock_timeout_code) ++errors;
                                  }}};
}

}  // namespace store::testing
