// A delivery under a lease, and how an attempt of it went: plain values.
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
  scheduled,  // the delivery's first, or it is due by the retry schedule
  probe,      // its webhook fails: one delivery of it, ahead of its schedule
  early,      // its webhook has answered again: everything that waits, ahead of its schedule
};

/// As the database spells them (`tipo`), in the order of the columns' definitions.
inline constexpr std::array<std::string_view, 3> attempt_kind_names{"programado", "sondeo", "adelantado"};
constexpr std::string_view name(AttemptKind kind) {
  return attempt_kind_names[static_cast<std::size_t>(kind)];
}

/// As the evidence spells it: the scheduled attempts of a delivery that was replayed have a name of their
/// own.
constexpr std::string_view evidence_name(AttemptKind kind, bool replay) {
  return replay && kind == AttemptKind::scheduled ? "reenvio" : name(kind);
}

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
  AttemptKind kind = AttemptKind::scheduled;
  bool replay = false;  // replayed since it ended for the first time
};

/// What of a delivery cannot be decrypted with the keys at hand.
enum class Unreadable {
  secret,     // of its webhook, and so of all its deliveries
  test_data,  // of this test event alone
};

/// A delivery that cannot be sent: no attempt is made of it.
struct HeldDelivery {
  LeasedDelivery delivery;
  Unreadable what = Unreadable::secret;
};

/// How an attempt ended on the wire.
enum class TransportResult {
  answered,       // final headers arrived: `status` decides, whatever became of the body
  not_started,    // the lease no longer covers the time-out, or the service is stopping: no attempt was made
  local_failure,  // this host's fault (descriptors, memory): no attempt of the receiver's
  address_refused,  // no address of the host may be dialled
  port_refused,     // it is another protocol's
  name_unresolved,
  connection_failed,
  connection_timeout,
  timeout,
  tls_expired,
  tls_untrusted,
  tls_wrong_name,
  tls_weak,           // a key or a signature that is too short
  tls_wrong_purpose,  // the certificate is not for servers
  tls_client_wanted,  // the receiver wants a certificate of ours
  tls_failed,
  closed,  // before an answer
  headers_too_long,
  bad_response,
};

/// Of whom nothing was heard in an attempt that failed (docs/delivery.md#our-own-outages).
enum class Silence {
  none,
  network,  // no route, no connection in time, or no byte of an answer
  names,    // no name server answered, or all of them had failed
};

struct Probe;  // of a diagnosis (diagnosis.hpp)

struct Attempt {
  LeasedDelivery delivery;
  TransportResult transport = TransportResult::not_started;
  platform::UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;    // the IP dialled
  int status = 0;                        // of `answered`
  unsigned signatures = 0;               // of different secrets: 0 to 2
  std::vector<std::string> retry_after;  // the field's values, of 429 and 503
  std::string url;                       // where it was sent
  std::string host;                      // with its port
  platform::MonotonicTime ended{};
  platform::MonotonicTime lease_until{};
  Silence silence = Silence::none;
  bool counted = true;                                   // false: it was our own outage
  std::optional<platform::MonotonicTime> heard;          // when something last came back from the host
  std::optional<platform::MonotonicTime> name_answered;  // by a name server, if one was asked
  std::shared_ptr<Probe> probe;                          // none: it is of a delivery
};

}  // namespace delivery
