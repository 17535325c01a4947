// What goes to the network and what comes back: plain values between the threads of the database and the
// network's.
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

/// A POST to be sent: signed when it is (headers_of), since receivers refuse what was signed minutes ago.
struct Request {
  /// All but `deliver` only look whether the host answers: they have a URL, and no delivery. Those with a
  /// probe end as attempts, the others as checks.
  enum class Purpose { deliver, handshake, lookup };
  Purpose purpose = Purpose::deliver;
  std::optional<platform::IpAddress> address;  // of `handshake`: where to
  delivery::LeasedDelivery delivery;
  std::string url;
  std::string host;                            // of the URL, with its port: requests to one share connections
  unsigned slots = 1;                          // how many of its webhook may be under way together
  std::optional<std::string> secret;           // in clear, as its signatures need it
  std::optional<std::string> previous_secret;  // the one before, while its grace runs
  std::string body;
  std::shared_ptr<delivery::Probe> probe;  // none: it is of a delivery. It comes back with the attempt
  platform::MonotonicTime read_at;         // the URL, the secret, and that it may be sent at all
  platform::MonotonicTime lease_until;     // by this machine's monotonic clock, counted from before the claim
};

/// A look whether the host answers has ended.
struct Check {
  enum class Outcome {
    heard,
    silent,
    not_asked,  // this host could not (descriptors, memory)
    nothing,    // it cannot be asked: no address of it may be dialled, or no name server is asked for it
  };
  Request::Purpose purpose = Request::Purpose::handshake;
  std::string host;
  Outcome outcome = Outcome::nothing;
  platform::MonotonicTime began{};
  platform::MonotonicTime ended{};
};

}  // namespace dispatcher
