// A delivery under a lease, and how an attempt of it went: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "delivery/ids.hpp"
#include "platform/clock.hpp"
#include "webhook/event.hpp"

namespace delivery {

/// A delivery claimed and ready to be sent.
struct LeasedDelivery {
  DeliveryId id = 0;
  WebhookId webhook = 0;
  NotificationId notification = 0;
  EntityId entity = 0;
  std::uint64_t lease = 0;  // the random token of its claim
  webhook::Event event{};
  platform::UtcTime occurred{};
  platform::UtcTime created{};
  std::string data;       // `datos`, byte for byte
  unsigned attempts = 0;  // known outcomes so far
  unsigned failures = 0;  // of them, those that count for the schedule
  bool test = false;
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
  LeasedDelivery delivery;
  TransportResult transport = TransportResult::not_started;
  platform::UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;  // the IP dialled
  int status = 0;                      // of `answered`
  std::string retry_after;             // the header's value, empty when there was none
};

}  // namespace delivery
