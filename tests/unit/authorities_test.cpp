#include "lib/webhook/authorities.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/platform/file.hpp"
#include "tests/unit/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(authorities)

BOOST_AUTO_TEST_CASE(a_file_of_authorities_is_whole) {
  const unit::TemporaryFolder folder;
  const auto bundle = platform::read_file(webhook::receivers_ca_file({}));
  const std::string end = "-----END CERTIFICATE-----\n";
  const auto whole = bundle.substr(0, bundle.find(end) + end.size());
  const auto problem = [&](const std::string& text) {
    try {
      webhook::require_authorities("delivery.ca_file", folder.write("ca", text));
      return std::string();
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
  };
  const auto named = "delivery.ca_file: " + folder.path() + "/ca: ";
  BOOST_TEST(problem(whole + whole) == "");
  BOOST_TEST(problem("text") == named + "no PEM certificate in it");
  BOOST_TEST(problem(whole + whole.substr(0, whole.size() / 2)) ==
             named + "a certificate in it is cut off or damaged");
}

BOOST_AUTO_TEST_SUITE_END()
