// Values that pass between the loop and the network's thread: requests, and the results of attempts and
// checks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/delivery/diagnosis.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

using delivery::Attempt;
using delivery::TransportResult;
using delivery::Unreadable;

/// A POST to be sent, or a check. It is signed when it is sent (headers_of), because receivers refuse an old
/// signature.
struct Request {
  /// `handshake` and `lookup` only find out whether the host answers: they have a URL and no delivery. With a
  /// test request they end as an Attempt, otherwise as a Check.
  enum class Purpose { deliver, handshake, lookup };
  Purpose purpose = Purpose::deliver;
  std::optional<platform::IpAddress> address;  // for `handshake`: the address to connect to
  delivery::LeasedDelivery delivery;
  std::string url;
  std::string host;                   // of the URL, with its port; requests to one host share connections
  unsigned slots = 1;                 // how many requests of its webhook may be in flight together
  std::optional<std::string> secret;  // decrypted, to sign with
  std::optional<std::string> previous_secret;  // the previous one, during its grace period
  std::string body;
  std::shared_ptr<delivery::TestRequest> test_request;  // only of a diagnosis; returned with the attempt
  platform::MonotonicTime read_at;      // when the URL, the secret and the permission to send were read
  platform::MonotonicTime lease_until;  // on this host's monotonic clock, counted from before the claim
};

/// The result of a check whether a host answers.
struct Check {
  enum class Outcome {
    heard,
    silent,
    not_asked,  // this host could not (descriptors, memory)
    nothing,    // no sign either way: all its addresses are refused, or its name needs no name server
  };
  Request::Purpose purpose = Request::Purpose::handshake;
  std::string host;
  Outcome outcome = Outcome::nothing;
  platform::MonotonicTime began{};
  platform::MonotonicTime ended{};
};

}  // namespace dispatcher
