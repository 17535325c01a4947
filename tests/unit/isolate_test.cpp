#include "lib/store/session/isolate.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <set>

BOOST_AUTO_TEST_SUITE(isolate)

namespace {

/// A database that refuses every batch that contains an item of `bad`.
struct Database {
  explicit Database(std::set<int> refused = {}) : bad(std::move(refused)) {}

  std::set<int> bad;
  std::vector<int> taken;
  std::vector<int> blamed;
  int transactions = 0;

  void offer(const std::vector<int>& batch) {
    store::isolate(
        batch, [this](const std::vector<int>& part) { take(part); },
        [this](int item, const store::DatabaseError&) { blamed.push_back(item); });
  }
  void take(const std::vector<int>& part) {
    ++transactions;
    if (std::ranges::any_of(part, [this](int item) { return bad.contains(item); }))
      throw store::Refused(4025, "CONSTRAINT failed");
    taken.insert(taken.end(), part.begin(), part.end());
  }
};

std::vector<int> numbers(int count) {
  std::vector<int> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 1);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_that_is_taken_is_one_transaction) {
  Database database;
  database.offer(numbers(64));
  BOOST_TEST(database.transactions == 1);
  BOOST_TEST(database.taken == numbers(64), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_refused_item_is_found_and_the_others_are_taken_in_order) {
  for (const int bad : {1, 17, 64}) {
    Database database({bad});
    database.offer(numbers(64));
    auto others = numbers(64);
    std::erase(others, bad);
    BOOST_TEST(database.blamed == std::vector{bad}, boost::test_tools::per_element());
    BOOST_TEST(database.taken == others, boost::test_tools::per_element());
    BOOST_TEST(database.transactions == 1 + 2 * 6);
  }
}

BOOST_AUTO_TEST_CASE(all_that_are_refused_are_found) {
  Database database({2, 3, 5});
  database.offer(numbers(5));
  BOOST_TEST(database.blamed == (std::vector{2, 3, 5}), boost::test_tools::per_element());
  BOOST_TEST(database.taken == (std::vector{1, 4}), boost::test_tools::per_element());
}

namespace {

/// How many batches isolate() tries until `Thrown` ends it.
template <class Thrown>
int calls_until_thrown() {
  int calls = 0;
  const auto work = [&](const std::vector<int>&) {
    ++calls;
    throw Thrown(1, "");
  };
  BOOST_CHECK_THROW(store::isolate(numbers(8), work, [](int, const store::DatabaseError&) {}), Thrown);
  return calls;
}

}  // namespace

BOOST_AUTO_TEST_CASE(items_taken_before_the_server_went_away_stay_taken) {
  std::vector<int> taken;
  const auto work = [&](const std::vector<int>& part) {
    if (part.size() > 2) throw store::Refused(1, "");
    if (part.front() > 2) throw store::Unavailable(2006, "gone");
    taken.insert(taken.end(), part.begin(), part.end());
  };
  BOOST_CHECK_THROW(store::isolate(numbers(4), work, [](int, const store::DatabaseError&) {}),
                    store::Unavailable);
  BOOST_TEST(taken == numbers(2), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(session_and_server_errors_end_the_isolation) {
  BOOST_TEST(calls_until_thrown<store::DatabaseError>() == 1);
  BOOST_TEST(calls_until_thrown<store::Unavailable>() == 1);
  BOOST_TEST(calls_until_thrown<store::Conflict>() == 1);
  BOOST_TEST(calls_until_thrown<store::LockTimeout>() == 1);
}

BOOST_AUTO_TEST_CASE(the_caller_says_which_errors_concern_one_item) {
  std::vector<int> blamed;
  const auto work = [](const std::vector<int>& part) {
    if (std::ranges::find(part, 3) != part.end()) throw store::LockTimeout(1205, "");
    if (std::ranges::find(part, 6) != part.end()) throw store::Conflict(1213, "");
  };
  const auto blame = [&](int item, const store::DatabaseError& error) {
    BOOST_TEST(error.code == 1205);
    blamed.push_back(item);
  };
  store::isolate(numbers(5), work, blame, store::is_lock_timeout);
  BOOST_TEST(blamed == std::vector{3}, boost::test_tools::per_element());
  BOOST_CHECK_THROW(store::isolate(numbers(8), work, blame, store::is_lock_timeout), store::Conflict);
}

BOOST_AUTO_TEST_SUITE_END()
