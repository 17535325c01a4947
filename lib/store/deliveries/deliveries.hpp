// Tables `entregas` and `intentos_entrega`, for the operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct Delivery {
  DeliveryId id;
  WebhookId webhook;
  NotificationId notification;
  std::string event;
  std::string state;  // pendiente, en_curso, entregada, fallida, cancelada, retenida
  std::int64_t attempts;
  std::optional<UtcTime> next_attempt;  // set while the delivery is pendiente
  std::optional<std::int64_t> last_status;
  std::string last_error;
  UtcTime created;
};

struct RecordedAttempt {
  std::int64_t number;  // from 1
  std::string kind;     // programado, reenvio, sondeo, adelantado
  /// For a failed probe: its position, from 1, in a series of consecutive failed probes. Only the first and
  /// the last probe of a series are kept.
  std::optional<std::int64_t> probes;
  UtcTime started;
  std::int64_t duration_ms;
  std::optional<std::string> address;
  std::optional<std::int64_t> status;
  std::string error;                       // empty: success
  std::optional<std::int64_t> signatures;  // number sent; unset: an attempt of an earlier release
};

std::vector<Delivery> list_deliveries(Session& session, const ListFilter& filter);
std::optional<Delivery> find_delivery(Session& session, DeliveryId id);
std::vector<RecordedAttempt> list_attempts(Session& session, DeliveryId id);
/// Returns the last `limit` attempts, oldest first.
std::vector<RecordedAttempt> list_newest_attempts(Session& session, DeliveryId id, unsigned limit);

/// The deliveries of a webhook to which its next attempts belong: the newest, those that are due next, and
/// the oldest that wait for a retry (a probe takes one of these); at most batch_rows of each.
std::vector<DeliveryId> find_next_attempted(Session& session, WebhookId webhook);
struct AttemptOfDelivery {
  Delivery delivery;  // as it is now
  RecordedAttempt attempt;
};
/// Lists the attempts of `deliveries`, which have no repeats, that began at or after `since`: the last
/// `limit`, oldest first.
std::vector<AttemptOfDelivery> list_attempts_since(Session& session,
                                                   const std::vector<DeliveryId>& deliveries, UtcTime since,
                                                   unsigned limit);

enum class DeliveryChange { done, not_found, wrong_state, webhook_deleted };

/// Makes a delivery pendiente and due now (retenida while its webhook is inactive), and starts its schedule
/// again. Returns wrong_state for a delivery that is en_curso or retenida, or of a cancelled notification.
DeliveryChange retry_delivery(Session& session, DeliveryId id);
/// Makes deliveries of the webhook due now, in batches: those created since `since` that wait for a retry, or
/// that are fallida and never had a 2xx. While the webhook is inactive, the fallida ones become retenida
/// instead. Returns the number of changed (or counted) deliveries; nullopt when there is no such webhook.
std::optional<std::uint64_t> retry_failed_deliveries(Session& session, WebhookId webhook, UtcTime since,
                                                     Bulk bulk = Bulk::change);

}  // namespace store
