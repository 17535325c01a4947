#include "lib/store/session/row.hpp"

#include <boost/test/unit_test.hpp>

using namespace store;

namespace {

/// A row with `value`, after another row, so that a read of the wrong row or column gives another value.
Row row_of(std::optional<std::string_view> value) {
  const auto result = std::make_shared<Result>(std::vector<std::string>{"id", "value"});
  result->append("6");
  result->append("before");
  result->append("7");
  if (value)
    result->append(*value);
  else
    result->append(std::nullopt);
  return {result, 1};
}

/// A row with a cell that was fetched as a number.
Row row_of_number(std::int64_t value) {
  const auto result = std::make_shared<Result>(std::vector<std::string>{"value"});
  result->append(value);
  return {result, 0};
}

auto says(std::string_view text) {
  return [text](const std::runtime_error& error) { return std::string_view(error.what()) == text; };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_test)

BOOST_AUTO_TEST_CASE(columns_are_read_by_name) {
  const auto row = row_of("1");
  BOOST_TEST(row.integer("id") == 7);
  BOOST_TEST(row.text("value") == "1");
  BOOST_TEST(row.boolean("value"));
  BOOST_TEST(row.unsigned_integer("value") == 1U);
  BOOST_TEST(row.optional_text("value").value() == "1");
  BOOST_TEST(row.optional_integer("value").value() == 1);
  BOOST_TEST(!row.null("value"));
  BOOST_TEST((row_of("1970-01-01 00:00:01.000").time("value") == UtcTime(std::chrono::seconds(1))));
  BOOST_TEST((row_of("1001000").unix_time("value") == UtcTime(platform::Milliseconds(1001))));
  BOOST_TEST((row_of("-1000").optional_unix_time("value") == UtcTime(platform::Milliseconds(-1))));
}

BOOST_AUTO_TEST_CASE(a_fetched_number_is_read_as_the_requested_type) {
  BOOST_TEST(row_of_number(-7).integer("value") == -7);
  BOOST_TEST(row_of_number(-7).text("value") == "-7");
  BOOST_TEST(row_of_number(-7).optional_text("value").value() == "-7");
  BOOST_TEST(row_of_number(7).unsigned_integer("value") == 7U);
  BOOST_TEST(!row_of_number(0).boolean("value"));
  BOOST_TEST(!row_of_number(0).null("value"));
  BOOST_TEST((row_of_number(1'001'000).optional_unix_time("value") == UtcTime(platform::Milliseconds(1001))));
  BOOST_CHECK_EXCEPTION(row_of_number(-7).unsigned_integer("value"), std::runtime_error,
                        says("column value is not the integer its reader expects: -7"));
}

BOOST_AUTO_TEST_CASE(null_is_nothing_or_an_error) {
  const auto row = row_of(std::nullopt);
  BOOST_TEST(row.null("value"));
  BOOST_TEST(!row.optional_text("value"));
  BOOST_TEST(!row.optional_integer("value"));
  BOOST_TEST(!row.optional_time("value"));
  BOOST_TEST(!row.optional_unix_time("value"));
  const auto null = says("column value is NULL where its reader expects a value");
  BOOST_CHECK_EXCEPTION(row.text("value"), std::runtime_error, null);
  BOOST_CHECK_EXCEPTION(row.integer("value"), std::runtime_error, null);
  BOOST_CHECK_EXCEPTION(row.time("value"), std::runtime_error, null);
}

BOOST_AUTO_TEST_CASE(a_statement_that_does_not_match_its_reader_is_told) {
  BOOST_CHECK_EXCEPTION(row_of("1").text("other"), std::runtime_error,
                        says("column other is not in the result"));
  BOOST_CHECK_EXCEPTION(row_of("1").null("other"), std::runtime_error,
                        says("column other is not in the result"));
  BOOST_CHECK_EXCEPTION(row_of("x").integer("value"), std::runtime_error,
                        says("column value is not the integer its reader expects: x"));
  const auto impossible = row_of("2026-02-30 00:00:00.000");
  BOOST_TEST(!impossible.optional_time("value"));
  BOOST_CHECK(impossible.time("value") == UtcTime{});
}

BOOST_AUTO_TEST_SUITE_END()
