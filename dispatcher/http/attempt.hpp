// What goes to the network and what comes back: plain values between the threads of the database and the
// network's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/clock.hpp"
#include "store/deliveries/lease.hpp"

namespace dispatcher {

/// A POST to be sent: signed when it is (headers_of), since receivers refuse what was signed minutes ago.
struct Request {
  store::LeasedDelivery delivery;
  std::string url;
  std::optional<std::string> secret;  // in clear, as its signatures need it
  std::string body;
  platform::MonotonicTime lease_until;  // by this machine's monotonic clock, counted from before the claim
};

/// How an attempt ended on the wire.
enum class TransportResult {
  answered,       // final headers arrived: `status` decides, whatever became of the body
  not_started,    // the lease no longer covers the time-out, or the service is stopping: no attempt was made
  local_failure,  // this host's fault (descriptors, memory): no attempt of the receiver's
  address_refused,  // no address of the host may be dialled
  name_unresolved,
  connection_failed,
  connection_timeout,
  timeout,
  tls_expired,
  tls_untrusted,
  tls_wrong_name,
  tls_failed,
  closed,  // before an answer
  headers_too_long,
  bad_response,
};

struct Attempt {
  store::LeasedDelivery delivery;
  TransportResult ending = TransportResult::not_started;
  platform::UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;  // the IP dialled
  int status = 0;                      // of `answered`
  std::string retry_after;             // the header's value, empty when there was none
};

}  // namespace dispatcher
