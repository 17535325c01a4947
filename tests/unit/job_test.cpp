#include "dispatcher/http/job.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/delivery/observation.hpp"

BOOST_AUTO_TEST_SUITE(job)

namespace {

using delivery::Silence;
using delivery::TransportResult;
using dispatcher::Job;
using Servers = dispatcher::Resolution::Servers;

Job lookup() {
  Job job;
  job.request.purpose = dispatcher::Request::Purpose::lookup;
  job.request.host = "a.example.com:443";
  job.request.observed = std::make_shared<delivery::Observation>();
  return job;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lookup_gives_the_addresses) {
  auto job = lookup();
  job.addresses = {platform::IpAddress::parse("192.0.2.1").value()};
  const auto attempt = dispatcher::lookup_attempt(std::move(job), Servers::answered);
  BOOST_TEST((attempt.transport == TransportResult::answered));
  BOOST_REQUIRE(attempt.observed);
  BOOST_REQUIRE(attempt.observed->addresses.size() == 1U);
  BOOST_TEST(attempt.observed->addresses.front().to_string() == "192.0.2.1");
}

BOOST_AUTO_TEST_CASE(a_lookup_says_why_it_failed) {
  const auto without = dispatcher::lookup_attempt(lookup(), Servers::answered);
  BOOST_TEST((without.transport == TransportResult::name_unresolved));
  BOOST_TEST((without.silence == Silence::none));
  const auto unanswered = dispatcher::lookup_attempt(lookup(), Servers::silent);
  BOOST_TEST((unanswered.transport == TransportResult::name_unresolved));
  BOOST_TEST((unanswered.silence == Silence::names));
  const auto not_asked = dispatcher::lookup_attempt(lookup(), Servers::not_asked);
  BOOST_TEST((not_asked.transport == TransportResult::local_failure));
}

BOOST_AUTO_TEST_SUITE_END()
