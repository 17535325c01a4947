#include "admin/output/explanation.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(admin_explanation)

namespace {

using namespace std::chrono_literals;
using admin::Facts;

/// A webhook of entity 7 with two due deliveries and nothing that stops them.
Facts facts() {
  const platform::UtcTime now(10h);
  return {{3, 7, "https://hooks.example.com/x", {}, true, {}, now, {}, {}, ""},
          {true, false, {}, {}, {"k1"}, 2, 0, 0, now - 1s, {}, now, now - 5s, 250},
          {false, {}},
          {},
          {},
          std::vector<std::string>{"k1"}};
}

std::vector<std::string> names(const Facts& facts, const config::DeliverySettings& settings = {}) {
  std::vector<std::string> result;
  for (const auto& cause : admin::causes_of(facts, settings)) result.push_back(cause.name);
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(each_cause_by_itself) {
  const auto with = [](auto&& change) {
    auto changed = facts();
    change(changed);
    return names(changed);
  };
  const auto pause = [](store::Paused what, const char* object) {
    return store::Pause{what, object, platform::UtcTime(11h), 1h, {}, "why"};
  };
  BOOST_TEST((names(facts()) == Names{"turno"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.due = 0; }) == Names{}));
  BOOST_TEST((with([](Facts& f) { f.backlog.dispatcher_seen -= 2min; }) == Names{"sin_despachador"}));
  BOOST_TEST((with([](Facts& f) { f.outages.push_back({"d", "red", {}, 1}); }) == Names{"corte"}));
  BOOST_TEST((with([](Facts& f) { f.pauses.everything = true; }) == Names{"cola_pausada"}));
  BOOST_TEST((with([&](Facts& f) { f.pauses.parts = {pause(store::Paused::host, "hooks.example.com")}; }) ==
              Names{"pausa"}));
  BOOST_TEST((with([&](Facts& f) {
                f.webhook.url = "https://[2001:DB8:0::1]:8443/x";
                f.pauses.parts = {pause(store::Paused::host, "2001:db8::1")};
              }) == Names{"pausa"}));
  BOOST_TEST((with([&](Facts& f) {
                f.pauses.parts = {pause(store::Paused::webhook, "7"), pause(store::Paused::entity, "3")};
              }) == Names{"turno"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.entity_active = false; }) == Names{"entidad_desactivada"}));
  BOOST_TEST((with([](Facts& f) { f.webhook.active = false; }) == Names{"inactivo"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.secret_key = "k2"; }) == Names{"secreto_ilegible"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.secret_key = "k2", f.keys_in_file.reset(); }) == Names{"turno"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.rests_until = platform::UtcTime(11h); }) == Names{"descanso"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.one_at_a_time = true; }) == Names{"sondeo"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.due = 0, f.backlog.later = 1; }) == Names{"reintento"}));
  BOOST_TEST((with([](Facts& f) { f.backlog.due = 0, f.backlog.held = 1; }) == Names{"retenida"}));
  BOOST_TEST((with([](Facts& f) { f.in_flight.assign(10, {3, f.webhook.url}); }) == Names{"limite_webhook"}));
  BOOST_TEST((with([](Facts& f) {
                f.in_flight.assign(50, {4, "https://HOOKS.example.com/y"});
              }) == Names{"limite_host"}));
  BOOST_TEST((with([](Facts& f) {
                f.in_flight.assign(512, {4, "https://otro.example.com/"});
              }) == Names{"limite_total"}));
}

BOOST_AUTO_TEST_CASE(the_ceiling_is_concurrency_divided_by_the_median_time) {
  const config::DeliverySettings settings;
  auto some = facts();
  BOOST_TEST(admin::ceiling_of(some, settings).at_once == 10U);
  BOOST_TEST(admin::ceiling_of(some, settings).per_second.value() == 40.0);
  some.backlog.one_at_a_time = true;
  BOOST_TEST(admin::ceiling_of(some, settings).per_second.value() == 4.0);
  some.backlog.median_ms.reset();
  BOOST_TEST(!admin::ceiling_of(some, settings).per_second);
}

BOOST_AUTO_TEST_SUITE_END()
