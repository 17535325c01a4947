#include "admin/input/options.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

#include "admin/errors.hpp"

BOOST_AUTO_TEST_SUITE(admin_options)

namespace {

using admin::Arguments;
using Words = std::vector<std::string>;
using std::chrono::hours;
using std::chrono::milliseconds;

const admin::OptionTable table{.id = admin::IdWord::optional,
                               .options = {{"entity", "N", "whose"},
                                           {"name", "TEXT", "what it is called"},
                                           {"ttl", "DURATION", "how long"},
                                           {"discard", "", "a flag"}}};
const admin::OptionTable strict{.id = admin::IdWord::required,
                                .options = {{"name", "TEXT", "its name", true}}};

Arguments parse(const Words& words) { return admin::parse_options(table, words); }

/// Returns the message of the UsageError that `run` throws.
template <class F>
std::string refusal(F run) {
  try {
    run();
  } catch (const admin::UsageError& e) {
    return e.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(options_and_an_id_in_any_order) {
  for (const Words& words : {Words{"3", "--entity", "7", "--discard"}, Words{"--discard", "3", "--entity=7"},
                             Words{"--id", "3", "--entity", "7", "--discard"}}) {
    const auto arguments = parse(words);
    BOOST_TEST(arguments.required_id() == 3);
    BOOST_TEST(arguments.id("entity").value() == 7);
    BOOST_TEST(arguments.has("discard"));
  }
}

BOOST_AUTO_TEST_CASE(what_is_absent_is_unset) {
  const auto arguments = parse({});
  BOOST_TEST(!arguments.has("discard"));
  BOOST_TEST(!arguments.id("id").has_value());
  BOOST_TEST(!arguments.line("name", 10).has_value());
}

BOOST_AUTO_TEST_CASE(abbreviations_are_not_guessed) {
  BOOST_TEST(contains(refusal([] { parse({"--dis"}); }), "unknown option '--dis'"));
  BOOST_TEST(contains(refusal([] { parse({"--ent=7"}); }), "unknown option '--ent"));
}

BOOST_AUTO_TEST_CASE(a_mistyped_option_is_answered_with_the_nearest) {
  const auto message = refusal([] { parse({"--entiyt", "7"}); });
  BOOST_TEST(message == "unknown option '--entiyt': did you mean '--entity'?");
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_named) {
  BOOST_TEST(contains(refusal([] { admin::parse_options(strict, {"--name", "x"}); }), "ID is missing"));
  BOOST_TEST(refusal([] { admin::parse_options(strict, {"3"}); }) == "--name TEXT is missing: its name");
  BOOST_TEST(contains(refusal([] { parse({"--entity"}); }), "--entity"));
  BOOST_TEST(contains(refusal([] { parse({"--entity", "--discard"}); }), "--entity"));
}

BOOST_AUTO_TEST_CASE(too_much_is_refused) {
  BOOST_TEST(refusal([] { parse({"3", "4"}); }) != "accepted");
  BOOST_TEST(refusal([] { parse({"--entity", "3", "--entity", "4"}); }) != "accepted");
  BOOST_TEST(refusal([] { parse({"--discard=yes"}); }) != "accepted");
  BOOST_TEST(refusal([] { admin::parse_options({}, {"3"}); }) != "accepted");
}

BOOST_AUTO_TEST_CASE(ids_are_positive_integers) {
  BOOST_TEST(parse({"9223372036854775807"}).required_id() == INT64_MAX);
  for (const std::string text : {"0", "-1", "1.5", "x", "", " 1", "0x1", "9223372036854775808"}) {
    BOOST_TEST_CONTEXT("'" << text << "'") {
      BOOST_TEST(contains(refusal([&] { parse({"--entity=1", text}).required_id(); }), "ID must be"));
      const Arguments option({{"entity", text}}, false);
      BOOST_TEST(contains(refusal([&] { option.id("entity"); }), "--entity must be"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_line_of_text_counts_characters) {
  BOOST_TEST(parse({"--name", "ñandú"}).line("name", 5).value() == "ñandú");
  BOOST_TEST(parse({"--name", "-x"}).line("name", 5).value() == "-x");
  BOOST_TEST(contains(refusal([] { parse({"--name", "ñandús"}).line("name", 5); }), "--name must be"));
  for (const std::string text : {"a\nb", "\xff", "   ", "\x1b[2J"})
    BOOST_TEST(contains(refusal([&] { parse({"--name", text}).line("name", 99); }), "--name must be"));
  BOOST_TEST(parse({"--name", ""}).line("name", 5, true).value().empty());
}

BOOST_AUTO_TEST_CASE(durations_have_limits) {
  const auto ttl = [](const std::string& text) {
    return parse({"--ttl", text}).duration("ttl", milliseconds(1), hours(48));
  };
  BOOST_TEST((ttl("2d").value() == hours(48)));
  for (const std::string text : {"0s", "3d", "30", "d", "1 d", "-1d"})
    BOOST_TEST(contains(refusal([&] { ttl(text); }), "--ttl must be a duration from 1ms to 2d"));
}

BOOST_AUTO_TEST_SUITE_END()
