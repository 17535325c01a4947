// Which requests share a statement, and what each of them gets.
#include "fcgi-app/caller_lookup.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <future>

#include "tests/wait.hpp"

namespace {

using api::CallerLookup;
using Hashes = std::span<const store::TokenHash>;
using Answer = std::future<std::optional<store::Caller>>;

store::TokenHash hash_of(int entity) { return {static_cast<std::uint8_t>(entity)}; }

/// A database that delays its first answer until the test sets `release`, or for a minute: a test that fails
/// before it sets `release` must end. It knows only entities with odd ids.
class Database {
 public:
  CallerLookup::Callers operator()(Hashes hashes) {
    sizes.push_back(hashes.size());
    asked = true;
    if (sizes.size() == 1) release.get_future().wait_for(std::chrono::minutes(1));
    if (sizes.size() == 1 && error) std::rethrow_exception(error);
    CallerLookup::Callers callers;
    for (const auto& hash : hashes) {
      if (hash[0] == unreadable) throw std::runtime_error("a column is not what its reader expects");
      callers.push_back(hash[0] % 2 == 1 ? std::optional(store::Caller{int{hash[0]}, "Una", {}})
                                         : std::nullopt);
    }
    return callers;
  }

  std::vector<std::size_t> sizes;  // the number of tokens of each statement; two statements never overlap
  std::atomic<bool> asked = false;
  std::promise<void> release;
  std::exception_ptr error;  // what the first statement throws, if set
  int unreadable = -1;       // the id of an entity with invalid rows
};

struct Fixture {
  Database database;
  CallerLookup lookup;

  Fixture()
      : lookup(store::Session({}, {"nobody"}),
               [this](store::Session&, Hashes hashes, store::CallerWith) { return database(hashes); }) {}

  Answer ask(int entity) {
    return std::async(std::launch::async, [this, entity] { return lookup.find(hash_of(entity)); });
  }

  void await_waiting(std::size_t count) {
    wait::until([&] { return lookup.waiting() == count; }, "the requests to wait");
  }

  /// Makes entity 0's request run a statement, and the requests of entities 1 to `others` wait for its end.
  /// Returns the answers by entity.
  std::vector<Answer> mark_busy(int others) {
    std::vector<Answer> answers;
    answers.push_back(ask(0));
    wait::until([&] { return database.asked.load(); }, "the first statement");
    for (int entity = 1; entity <= others; ++entity) answers.push_back(ask(entity));
    await_waiting(static_cast<std::size_t>(others));
    return answers;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(caller_lookup, Fixture)

BOOST_AUTO_TEST_CASE(a_lone_request_is_looked_up_alone) {
  database.release.set_value();
  BOOST_TEST(lookup.find(hash_of(1))->id == 1);
  BOOST_TEST(!lookup.find(hash_of(2)));
  BOOST_TEST(database.sizes == (std::vector<std::size_t>{1, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(waiting_requests_share_a_statement_and_each_gets_its_own_caller) {
  auto answers = mark_busy(5);
  database.release.set_value();
  for (int entity = 0; entity <= 5; ++entity) {
    const auto caller = answers[static_cast<std::size_t>(entity)].get();
    BOOST_TEST(caller.has_value() == (entity % 2 == 1));
    if (caller) BOOST_TEST(caller->id == entity);
  }
  BOOST_TEST(database.sizes == (std::vector<std::size_t>{1, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_statement_is_for_so_many_at_most) {
  constexpr int others = 2 * static_cast<int>(CallerLookup::most_at_once) + 1;
  auto answers = mark_busy(others);
  database.release.set_value();
  for (auto& answer : answers) answer.get();
  BOOST_TEST(database.sizes ==
                 (std::vector<std::size_t>{1, CallerLookup::most_at_once, CallerLookup::most_at_once, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_unavailable_database_fails_all_waiting_requests_at_once) {
  database.error = std::make_exception_ptr(store::Unavailable(2002, "gone"));
  auto answers = mark_busy(10);
  database.release.set_value();
  for (auto& answer : answers) BOOST_CHECK_THROW(answer.get(), store::Unavailable);
  BOOST_TEST(database.sizes.size() == 1U);
  BOOST_TEST(lookup.find(hash_of(1))->id == 1);  // the next request asks the database again
}

BOOST_AUTO_TEST_CASE(an_unreadable_entity_fails_only_its_own_request) {
  database.unreadable = 3;
  auto answers = mark_busy(5);
  database.release.set_value();
  for (int entity = 0; entity <= 5; ++entity) {
    auto& answer = answers[static_cast<std::size_t>(entity)];
    if (entity == 3) {
      BOOST_CHECK_THROW(answer.get(), std::runtime_error);
    } else {
      BOOST_TEST(answer.get().has_value() == (entity % 2 == 1));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
