#include "admin/input/command_line.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "admin/errors.hpp"

BOOST_AUTO_TEST_SUITE(admin_command_line)

namespace {

using Words = std::vector<std::string>;

/// The words as one text, which a failed comparison shows.
std::string joined(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : "|") + word;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(globals_are_found_anywhere_on_the_line) {
  for (const Words& typed :
       {Words{"--json", "token", "list", "--entity", "7"}, Words{"token", "--json", "list", "--entity", "7"},
        Words{"token", "list", "--entity", "7", "--json"}}) {
    const auto line = admin::split_command_line(typed);
    BOOST_TEST(line.json);
    BOOST_TEST(!line.help);
    BOOST_TEST(joined(line.words) == "token|list|--entity|7");
  }
}

BOOST_AUTO_TEST_CASE(help_and_version) {
  BOOST_TEST(admin::split_command_line({"token", "list", "--help"}).help);
  BOOST_TEST(admin::split_command_line({"-h"}).help);
  BOOST_TEST(admin::split_command_line({"--version"}).version);
}

BOOST_AUTO_TEST_CASE(the_configuration_file_in_one_or_two_words) {
  BOOST_TEST(admin::split_command_line({"--config", "a.conf", "db", "status"}).config_file.value() ==
             "a.conf");
  BOOST_TEST(admin::split_command_line({"db", "status", "--config=a.conf"}).config_file.value() == "a.conf");
  BOOST_CHECK_THROW(admin::split_command_line({"db", "status", "--config"}), admin::UsageError);
  BOOST_CHECK_THROW(admin::split_command_line({"--config", "--json", "db", "status"}), admin::UsageError);
}

BOOST_AUTO_TEST_CASE(keys_of_the_configuration_are_set_aside) {
  const auto line = admin::split_command_line(
      {"--database.name=pruebas", "queue", "status", "--database.socket", "/run/x.sock", "--watch"});
  BOOST_TEST(joined(line.settings) == "--database.name=pruebas|--database.socket=/run/x.sock");
  BOOST_TEST(joined(line.words) == "queue|status|--watch");
}

BOOST_AUTO_TEST_CASE(a_key_without_a_value_takes_no_option_for_one) {
  const auto line = admin::split_command_line({"db", "status", "--database.name", "--json"});
  BOOST_TEST(joined(line.settings) == "--database.name");
  BOOST_TEST(line.json);
}

BOOST_AUTO_TEST_CASE(a_dot_in_a_value_makes_no_key_of_an_option) {
  BOOST_TEST(joined(admin::split_command_line({"entity", "add", "--name=S.A."}).words) ==
             "entity|add|--name=S.A.");
}

BOOST_AUTO_TEST_CASE(words_after_two_dashes_are_left_alone) {
  const auto line = admin::split_command_line({"entity", "add", "--", "--json"});
  BOOST_TEST(!line.json);
  BOOST_TEST(joined(line.words) == "entity|add|--|--json");
}

BOOST_AUTO_TEST_SUITE_END()
