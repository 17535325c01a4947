// Values that pass between the loop and the network's thread: requests, and their attempts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/delivery/observation.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

using delivery::Attempt;
using delivery::TransportResult;
using delivery::Unreadable;

/// A POST to be sent, or a check. The POST of a delivery is signed when it is sent (headers_of), because
/// receivers refuse an old signature.
struct Request {
  /// A `handshake` or `lookup` only finds out whether the host or a name server answers. It has a URL but no
  /// delivery, and is observed.
  enum class Purpose { deliver, handshake, lookup };
  Purpose purpose = Purpose::deliver;
  std::optional<platform::IpAddress> address;  // for `handshake`: the address to connect to
  delivery::LeasedDelivery delivery;
  std::string url;
  std::string host;                   // of the URL, with its port; requests to one host share connections
  unsigned slots = 1;                 // how many requests of the webhook may be in flight together
  bool to_quick = false;              // FairSlots::is_quick: its connection is made before those of others
  std::optional<std::string> secret;  // decrypted, to sign with
  std::optional<std::string> previous_secret;  // set during its grace period
  std::string body;
  std::vector<std::string> headers;  // sent as they are; empty: those of the delivery (headers_of)
  bool new_connection = false;       // a kept one is not used
  std::shared_ptr<delivery::Observation> observed;  // to be filled in and returned with the attempt, or null
  platform::MonotonicTime read_at;      // when the URL, the secret and the permission to send were read
  platform::MonotonicTime lease_until;  // when the lease ends, or a little earlier
};

}  // namespace dispatcher
