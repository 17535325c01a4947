#include "lib/delivery/states.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

using delivery::DeliveryState;
using delivery::NotificationState;

namespace {

template <class Transitions>
std::set<std::string> reached(const Transitions& transitions) {
  std::set<std::string> result;
  for (const auto& transition : transitions) result.emplace(name(transition.to));
  return result;
}

template <class Names>
std::string enumeration(const Names& names) {
  std::string result;
  for (const auto name : names) result += (result.empty() ? "'" : ", '") + std::string(name) + "'";
  return "ENUM(" + result + ")";
}

std::string migration(const std::string& file) {
  std::ifstream in(SOURCE_DIR "/sql/migrations/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(states)

BOOST_AUTO_TEST_CASE(every_state_is_reached) {
  BOOST_TEST(reached(delivery::delivery_transitions).size() == delivery::delivery_state_names.size());
  BOOST_TEST(reached(delivery::notification_transitions).size() == delivery::notification_state_names.size());
}

BOOST_AUTO_TEST_CASE(the_names_are_those_of_the_tables) {
  BOOST_TEST(migration("0003_notificaciones.sql").find(enumeration(delivery::notification_state_names)) !=
             std::string::npos);
  BOOST_TEST(migration("0004_entregas.sql").find(enumeration(delivery::delivery_state_names)) !=
             std::string::npos);
  BOOST_TEST(name(DeliveryState::held) == "retenida");
  BOOST_TEST(name(NotificationState::cancelled) == "cancelada");
}

// A leased delivery belongs to the holder of the lease: neither the operator nor the API changes it.
BOOST_AUTO_TEST_CASE(only_the_dispatcher_changes_what_is_under_a_lease) {
  for (const auto& [from, to, actor, when] : delivery::delivery_transitions) {
    if (from == DeliveryState::leased)
      BOOST_TEST((actor == delivery::Actor::dispatcher || actor == delivery::Actor::maintenance), when);
  }
}

BOOST_AUTO_TEST_SUITE_END()
