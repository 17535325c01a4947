#include "dispatcher/http/lookups.hpp"

#include <boost/test/unit_test.hpp>

// Names that need no name server. tests/dispatch/test_dns.py tests look-ups that ask one.
BOOST_AUTO_TEST_SUITE(lookups)

namespace {

using namespace std::chrono_literals;
using dispatcher::Addresses;
using dispatcher::Lookups;
using dispatcher::Request;

platform::IpAddress ip(const char* text) { return platform::IpAddress::parse(text).value(); }

struct Fixture {
  config::DeliverySettings settings;
  dispatcher::Poller poller;
  std::optional<Lookups> lookups;

  Fixture() {
    settings.connect_timeout = 400ms;
    settings.host_overrides = {{"*.receptor.test", ip("127.0.0.9")}};
    lookups.emplace(settings, poller);
  }

  static dispatcher::Job job_to(const std::string& host,
                                Request::Purpose purpose = Request::Purpose::deliver) {
    Request request;
    request.purpose = purpose;
    request.host = host + ":443";
    request.url = "https://" + host + "/";
    return dispatcher::begun(std::move(request));
  }

  std::vector<Lookups::Found> wait_for_found() {
    const auto deadline = platform::monotonic_now() + 1min;
    for (;;) {
      auto found = lookups->take_found();
      if (!found.empty() || platform::monotonic_now() > deadline) return found;
      for (const auto& event : poller.wait(10ms)) lookups->process(event);
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_the_url_or_an_override_says_needs_no_lookup, Fixture) {
  const auto literal = lookups->find(job_to("192.0.2.1"));
  BOOST_REQUIRE(literal);
  BOOST_TEST(literal->addresses.empty());
  const auto overridden = lookups->find(job_to("a.receptor.test"));
  BOOST_REQUIRE(overridden);
  BOOST_TEST((overridden->addresses == Addresses{ip("127.0.0.9")}));
  BOOST_TEST(overridden->cache_key == "a.receptor.test:443");
  BOOST_TEST(!lookups->next_timeout());
}

BOOST_FIXTURE_TEST_CASE(a_handshake_goes_to_the_address_it_names, Fixture) {
  auto job = job_to("a.example.com", Request::Purpose::handshake);
  job.request.address = ip("192.0.2.7");
  const auto found = lookups->find(std::move(job));
  BOOST_REQUIRE(found);
  BOOST_TEST((found->addresses == Addresses{ip("192.0.2.7")}));
}

BOOST_FIXTURE_TEST_CASE(jobs_wait_together_for_a_lookup_and_later_ones_find_its_answer, Fixture) {
  BOOST_TEST(!lookups->find(job_to("localhost")));
  BOOST_TEST(!lookups->find(job_to("LOCALHOST", Request::Purpose::lookup)));
  BOOST_TEST(lookups->hosts().size() == 2U);
  const auto found = wait_for_found();
  BOOST_REQUIRE(found.size() == 2U);
  for (const auto& one : found) BOOST_TEST(!one.job.addresses.empty());
  BOOST_TEST(lookups->hosts().empty());
  const auto cached = lookups->find(job_to("localhost"));
  BOOST_REQUIRE(cached);
  BOOST_TEST((cached->addresses == found.front().job.addresses));
}

BOOST_FIXTURE_TEST_CASE(a_check_asks_although_the_answer_is_kept, Fixture) {
  lookups->find(job_to("localhost"));
  wait_for_found();
  BOOST_TEST(!lookups->find(job_to("localhost", Request::Purpose::lookup)));
  const auto found = wait_for_found();
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_TEST((found.front().job.request.purpose == Request::Purpose::lookup));
}

BOOST_AUTO_TEST_SUITE_END()
