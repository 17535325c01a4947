#include "dispatcher/http/checks.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/delivery/observation.hpp"

BOOST_AUTO_TEST_SUITE(checks)

namespace {

using namespace std::chrono_literals;
using delivery::Silence;
using delivery::TransportResult;
using dispatcher::Attempt;
using dispatcher::Job;
using dispatcher::OutageCheck;
using Servers = dispatcher::Resolution::Servers;

const platform::MonotonicTime began{std::chrono::hours(1)};

Attempt handshake(TransportResult result) {
  Attempt attempt;
  attempt.host = "a.example.com:443";
  attempt.delivery.entity = 7;
  attempt.transport = result;
  attempt.ended = began + 80ms;
  attempt.duration = 80ms;
  return attempt;
}

Job lookup() {
  Job job;
  job.request.purpose = dispatcher::Request::Purpose::lookup;
  job.request.host = "a.example.com:443";
  job.since = began;
  return job;
}

Job observed_lookup() {
  auto job = lookup();
  job.request.observed = std::make_shared<delivery::Observation>();
  return job;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_handshake_ends_with_the_sign_of_life) {
  auto attempt = handshake(TransportResult::tls_untrusted);
  attempt.heard = began + 30ms;
  const auto check = dispatcher::handshake_check(attempt);
  BOOST_TEST((check.finding == OutageCheck::Finding::heard));
  BOOST_TEST((check.purpose == dispatcher::Request::Purpose::handshake));
  BOOST_TEST(check.host == "a.example.com:443");
  BOOST_TEST((check.entity == 7));
  BOOST_TEST((check.began == began));
  BOOST_TEST((check.ended == began + 30ms));
}

BOOST_AUTO_TEST_CASE(silence_outweighs_an_earlier_sign_of_life) {
  auto attempt = handshake(TransportResult::timeout);
  attempt.heard = began + 30ms;
  attempt.silence = Silence::network;
  BOOST_TEST((dispatcher::handshake_check(attempt).finding == OutageCheck::Finding::silent));
}

BOOST_AUTO_TEST_CASE(a_handshake_that_this_host_could_not_make_was_not_asked) {
  const auto check = dispatcher::handshake_check(handshake(TransportResult::local_failure));
  BOOST_TEST((check.finding == OutageCheck::Finding::not_asked));
  BOOST_TEST((check.ended == began + 80ms));
}

BOOST_AUTO_TEST_CASE(a_host_that_may_not_be_dialled_gives_no_sign) {
  const auto check = dispatcher::handshake_check(handshake(TransportResult::address_refused));
  BOOST_TEST((check.finding == OutageCheck::Finding::nothing));
}

BOOST_AUTO_TEST_CASE(a_lookup_tells_of_the_servers) {
  using enum OutageCheck::Finding;
  const auto finding = [](Servers servers) {
    return dispatcher::lookup_check(lookup(), servers, began + 20ms).finding;
  };
  BOOST_TEST((finding(Servers::answered) == heard));
  BOOST_TEST((finding(Servers::silent) == silent));
  BOOST_TEST((finding(Servers::not_asked) == not_asked));
  BOOST_TEST((finding(Servers::nothing) == nothing));
  const auto check = dispatcher::lookup_check(lookup(), Servers::answered, began + 20ms);
  BOOST_TEST((check.purpose == dispatcher::Request::Purpose::lookup));
  BOOST_TEST(check.host == "a.example.com:443");
  BOOST_TEST((check.began == began));
  BOOST_TEST((check.ended == began + 20ms));
}

BOOST_AUTO_TEST_CASE(an_observed_lookup_gives_the_addresses) {
  auto job = observed_lookup();
  job.addresses = {platform::IpAddress::parse("192.0.2.1").value()};
  const auto attempt = dispatcher::lookup_attempt(std::move(job), Servers::answered);
  BOOST_TEST((attempt.transport == TransportResult::answered));
  BOOST_REQUIRE(attempt.observed);
  BOOST_REQUIRE(attempt.observed->addresses.size() == 1U);
  BOOST_TEST(attempt.observed->addresses.front().to_string() == "192.0.2.1");
}

BOOST_AUTO_TEST_CASE(an_observed_lookup_says_why_it_failed) {
  const auto without = dispatcher::lookup_attempt(observed_lookup(), Servers::answered);
  BOOST_TEST((without.transport == TransportResult::name_unresolved));
  BOOST_TEST((without.silence == Silence::none));
  const auto unanswered = dispatcher::lookup_attempt(observed_lookup(), Servers::silent);
  BOOST_TEST((unanswered.transport == TransportResult::name_unresolved));
  BOOST_TEST((unanswered.silence == Silence::names));
  const auto not_asked = dispatcher::lookup_attempt(observed_lookup(), Servers::not_asked);
  BOOST_TEST((not_asked.transport == TransportResult::local_failure));
}

BOOST_AUTO_TEST_SUITE_END()
