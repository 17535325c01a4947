#include "admin/run.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <sstream>
#include <string>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/command_line.hpp"
#include "admin/input/usage.hpp"
#include "lib/text/suggestion.hpp"

BOOST_AUTO_TEST_SUITE(admin_run)

namespace {

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = admin::run(arguments, {.out = out, .err = err}, {});
  return {status, out.str(), err.str()};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Splits an example into words as a shell does; examples have only single quotes.
std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_commands_are_those_of_the_contract) {
  std::set<std::string> contract = {
      "db migrate",           "db status",           "entity add",        "entity list",
      "entity disable",       "entity enable",       "token issue",       "token list",
      "token revoke",         "webhook list",        "webhook show",      "webhook disable",
      "webhook enable",       "notification list",   "notification show", "notification retry",
      "notification discard", "notification cancel", "delivery list",     "delivery show",
      "delivery retry",       "queue status",        "queue pause",       "queue resume",
      "queue clock accept",   "secrets reencrypt",   "secrets status",    "config show",
      "config check",         "nginx limits",        "audit list",        "report",
      "replay list",          "replay cancel",       "webhook urls",      "webhook lift",
      "webhook explain",      "nginx origins",       "webhook diagnose",  "webhook test",
      "webhook trace",        "config diff",         "nginx docs"};
  contract.insert({"entity contact add", "entity contact remove", "entity contact list", "notice list",
                   "notice show", "notice resend", "notice test"});
  std::set<std::string> table;
  for (const auto& command : admin::all_commands()) table.emplace(command.words);
  BOOST_TEST((table == contract));
  BOOST_TEST(table.size() == admin::all_commands().size());
  for (const auto& command : admin::all_commands())
    BOOST_TEST((command.recorded != admin::Recorded::undeclared), command.words);
}

BOOST_AUTO_TEST_CASE(every_command_teaches_itself_with_an_example_that_works) {
  for (const auto& command : admin::all_commands()) {
    BOOST_TEST_CONTEXT(command.words) {
      BOOST_REQUIRE(command.run != nullptr);
      auto words = shell_words(command.example);
      BOOST_TEST(words.front() == admin::program_name);
      words.erase(words.begin());
      const auto request = admin::find_command(admin::split_command_line(words).words);
      BOOST_TEST(request.command.words == command.words);
      BOOST_CHECK_NO_THROW(admin::parse_options(request.command.options, request.words));

      words.push_back("--help");
      const auto help = run(words);
      BOOST_TEST(help.status == 0);
      BOOST_TEST(help.err.empty());
      BOOST_TEST(contains(help.out, command.summary));
      BOOST_TEST(contains(help.out, command.example));
      for (const auto& option : command.options.options)
        BOOST_TEST(contains(help.out, "--" + std::string(option.name)));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_usage_lists_every_command_and_fits_a_wide_terminal) {
  const auto usage = admin::program_usage();
  for (const auto& command : admin::all_commands()) BOOST_TEST(contains(usage, command.words));
  std::istringstream text(usage);
  for (std::string line; std::getline(text, line);) BOOST_TEST(line.size() <= 120U);
}

BOOST_AUTO_TEST_CASE(nothing_typed_is_a_usage_error_that_teaches) {
  const auto nothing = run({});
  BOOST_TEST(nothing.status == 2);
  BOOST_TEST(nothing.out.empty());
  BOOST_TEST(nothing.err == admin::program_usage());
  const auto group = run({"entity"});
  BOOST_TEST(group.status == 2);
  BOOST_TEST(group.err == admin::group_usage("entity"));
  BOOST_TEST(run({"db", "--migrations", "x"}).err == admin::group_usage("db"));
}

BOOST_AUTO_TEST_CASE(help_is_asked_for_in_several_ways) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"}, {"-h"}, {"help"}}) {
    BOOST_TEST(run(words).out == admin::program_usage());
    BOOST_TEST(run(words).status == 0);
  }
  BOOST_TEST(contains(run({"config", "--help"}).out, "delivery.poll_interval"));
  BOOST_TEST(run({"entity", "--help"}).out == admin::group_usage("entity"));
  BOOST_TEST(run({"help", "entity", "add"}).out == run({"entity", "add", "--help"}).out);
}

BOOST_AUTO_TEST_CASE(the_version) {
  const auto version = run({"--version"});
  BOOST_TEST(version.status == 0);
  BOOST_TEST(version.out == "apientidades-admin " APIENTIDADES_VERSION "\n");
}

BOOST_AUTO_TEST_CASE(a_typing_error_is_one_line_with_the_nearest_command) {
  for (const auto& [typed, meant] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"entitty", "list"}, "entity list"},
           {{"token", "isue", "--entity", "7"}, "token issue"},
           {{"webhook", "desable", "3"}, "webhook disable"},
           {{"migrate"}, "db migrate"},
           {{"enttiy"}, "entity"},
           {{"qeueu", "status", "--watch"}, "queue status"}}) {
    const auto outcome = run(typed);
    BOOST_TEST(outcome.status == 2);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(lines(outcome.err) == 1U);
    BOOST_TEST(outcome.err.starts_with("apientidades-admin: unknown command"));
    BOOST_TEST(contains(outcome.err, "did you mean '" + meant + "'?"));
  }
  BOOST_TEST(contains(run({"xyzzy"}).err, "--help lists them"));
}

BOOST_AUTO_TEST_CASE(a_usage_error_names_the_option_and_where_to_read_on) {
  const auto outcome = run({"entity", "add", "--id", "7"});
  BOOST_TEST(outcome.status == 2);
  BOOST_TEST(lines(outcome.err) == 1U);
  BOOST_TEST(contains(outcome.err, "apientidades-admin: --name TEXT is missing"));
  BOOST_TEST(contains(outcome.err, "apientidades-admin entity add --help"));
}

BOOST_AUTO_TEST_CASE(what_was_typed_cannot_break_the_one_line) {
  const auto outcome = run({"a\nb\x1b[2J"});
  BOOST_TEST(outcome.status == 2);
  BOOST_TEST(lines(outcome.err) == 1U);
  BOOST_TEST(!contains(outcome.err, "\x1b"));
}

BOOST_AUTO_TEST_CASE(a_bad_configuration_is_status_2_and_a_database_away_is_1) {
  const auto unknown = run({"entity", "list", "--config=/dev/null", "--no.such_key=1"});
  BOOST_TEST(unknown.status == 2);
  BOOST_TEST(lines(unknown.err) == 1U);
  BOOST_TEST(contains(unknown.err, "no.such_key"));

  const auto away = run({"entity", "list", "--config=/dev/null", "--database.socket=/nonexistent/db.sock"});
  BOOST_TEST(away.status == 1);
  BOOST_TEST(lines(away.err) == 1U);
  BOOST_TEST(contains(away.err, "database unavailable"));
  BOOST_TEST(contains(away.err, "/nonexistent/db.sock"));
}

BOOST_AUTO_TEST_CASE(edit_distance_counts_a_swap_as_one) {
  BOOST_TEST(text::edit_distance("", "") == 0U);
  BOOST_TEST(text::edit_distance("token", "token") == 0U);
  BOOST_TEST(text::edit_distance("toekn", "token") == 1U);
  BOOST_TEST(text::edit_distance("", "abc") == 3U);
  BOOST_TEST(text::edit_distance("list", "lost") == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
