// A leased delivery, and the outcome of an attempt: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/webhook/event.hpp"

namespace delivery {

/// Why an attempt is made (docs/delivery.md#recovery-and-probes).
enum class AttemptKind {
  scheduled,  // the delivery's first attempt, or a retry due by the schedule
  probe,      // one attempt ahead of the schedule, to a webhook that fails
  early,      // recovery: ahead of the schedule, because the failing webhook has answered 2xx
};

/// The values of the columns `tipo`, in the order of AttemptKind.
inline constexpr std::array<std::string_view, 3> attempt_kind_names{"programado", "sondeo", "adelantado"};
constexpr std::string_view name(AttemptKind kind) {
  return attempt_kind_names[static_cast<std::size_t>(kind)];
}

/// The kind with this name; one that only a newer release knows counts as scheduled.
constexpr AttemptKind attempt_kind(std::string_view name) {
  for (std::size_t i = 0; i < attempt_kind_names.size(); ++i) {
    if (attempt_kind_names[i] == name) return static_cast<AttemptKind>(i);
  }
  return AttemptKind::scheduled;
}

/// The spelling in the evidence, where a scheduled attempt of a replayed delivery has its own name.
constexpr std::string_view evidence_name(AttemptKind kind, bool replay) {
  return replay && kind == AttemptKind::scheduled ? "reenvio" : name(kind);
}

/// A delivery under a lease, ready to be sent.
struct LeasedDelivery {
  DeliveryId id = 0;
  WebhookId webhook = 0;
  NotificationId notification = 0;
  EntityId entity = 0;
  std::uint64_t lease = 0;  // the token that proves the lease
  webhook::Event event{};
  platform::UtcTime occurred{};
  platform::UtcTime created{};
  std::string data;       // `datos`, byte for byte
  unsigned attempts = 0;  // so far, with a known outcome
  unsigned failures = 0;  // so far; only those that count for the schedule (`paso`)
  bool test = false;
  AttemptKind kind = AttemptKind::scheduled;
  bool replay = false;  // a replay: the delivery had already finished
};

/// The part of a delivery that the present keys cannot decrypt.
enum class Unreadable {
  secret,     // the webhook's: concerns all deliveries of the webhook
  test_data,  // the test event's: concerns deliveries of that event alone
};

/// A delivery that is held instead of sent; no attempt is made.
struct HeldDelivery {
  LeasedDelivery delivery;
  Unreadable what = Unreadable::secret;
};

/// The outcome of an attempt on the wire.
enum class TransportResult {
  answered,  // final headers arrived: `status` decides, even if the body failed
  /// No attempt was made; or the attempt failed, and the dispatcher could not wait until it was clear whether
  /// the receiver or an outage of our own was the cause. The delivery is due again.
  not_started,
  local_failure,    // a fault of this host (LocalFault); does not count as an attempt
  sandboxed,        // delivery.sandbox is set and does not list the host: nothing was sent
  address_refused,  // no address of the host may be dialled
  port_refused,     // the port belongs to another protocol
  name_unresolved,
  connection_failed,
  connection_timeout,
  timeout,
  tls_expired,
  tls_untrusted,
  tls_wrong_name,
  tls_weak,           // a key that is too short, or a signature with a weak digest
  tls_wrong_purpose,  // the certificate is not for servers
  tls_client_wanted,  // the receiver requires a client certificate
  tls_failed,
  closed,  // the connection ended before an answer
  headers_too_long,
  bad_response,
};

/// The fault of a local_failure.
enum class LocalFault {
  none,
  stopped,  // this process did not run for a time, and so the attempt's outcome is unknown
  emfile,   // this and those that follow: a system call failed with this errno
  enfile,
  enobufs,
  enomem,  // also without a system call
  eaddrnotavail,
  eperm,
  ca_file,  // delivery.ca_file cannot be read
  other,
};

/// In the order of LocalFault; labels of a metric.
inline constexpr std::array<std::string_view, 10> local_fault_names{
    "none", "stopped", "EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EADDRNOTAVAIL", "EPERM", "ca_file", "other"};
constexpr std::string_view name(LocalFault fault) {
  return local_fault_names[static_cast<std::size_t>(fault)];
}

/// What stayed silent during a failed attempt (docs/delivery.md#our-own-outages).
enum class Silence {
  none,
  network,  // no route, no connection in time, or no byte of an answer in time
  names,    // no name server gave an address
};

/// Whether the receiver asks to wait (docs/delivery.md).
constexpr bool asks_to_wait(TransportResult transport, int status) {
  return transport == TransportResult::answered && (status == 429 || status == 503);
}

struct Observation;  // observation.hpp

struct Attempt {
  LeasedDelivery delivery;
  TransportResult transport = TransportResult::not_started;
  platform::UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;                  // the IP dialled
  int status = 0;                                      // HTTP status, if `answered`
  std::optional<platform::UtcTime> certificate_end{};  // of the receiver's, if a handshake showed it
  unsigned signatures = 0;                             // how many secrets signed the request: 0 to 2
  std::vector<std::string> retry_after;                // the header's values, of a 429 or 503 only
  std::string url;                                     // of the POST
  std::string host;                                    // `host:port`
  platform::MonotonicTime ended{};
  platform::MonotonicTime lease_until{};
  LocalFault fault = LocalFault::none;
  Silence silence = Silence::none;
  bool counted = true;                           // false: the attempt met silence in an outage of our own
  std::optional<platform::MonotonicTime> heard;  // when the host last replied; a TCP connection is no reply
  std::optional<platform::MonotonicTime> name_answered;  // when a name server answered, if one was asked
  std::shared_ptr<Observation> observed;                 // null: the sender of the request wants none
};

}  // namespace delivery
