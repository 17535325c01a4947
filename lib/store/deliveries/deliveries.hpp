// Tables `entregas` and `intentos_entrega`, as the operator sees them.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  std::optional<UtcTime> next_attempt;  // of a pendiente
  std::optional<std::int64_t> last_status;
  std::string last_error;
  UtcTime created;
};

struct RecordedAttempt {
  std::int64_t number;  // from 1
  std::string kind;     // programado, sondeo, adelantado
  /// Of a probe that failed: how many have in a row, with it. Those between the first and the last are not
  /// kept.
  std::optional<std::int64_t> probes;
  UtcTime started;
  std::int64_t duration_ms;
  std::optional<std::string> address;
  std::optional<std::int64_t> status;
  std::string error;                       // empty: success
  std::optional<std::int64_t> signatures;  // how many it had; unset: made by an earlier version
};

std::vector<Delivery> list_deliveries(Session& session, const ListFilter& filter);
std::optional<Delivery> find_delivery(Session& session, DeliveryId id);
std::vector<RecordedAttempt> list_attempts(Session& session, DeliveryId id);
/// The last `limit` of them, the oldest first.
std::vector<RecordedAttempt> list_newest_attempts(Session& session, DeliveryId id, unsigned limit);

enum class DeliveryChange { done, not_found, wrong_state, webhook_deleted };

/// Any state but en_curso and retenida -> pendiente, due now (retenida while its webhook is inactive), its
/// schedule from the start. wrong_state also when its notification was cancelled.
DeliveryChange retry_delivery(Session& session, DeliveryId id);
/// The same for every `fallida` of a webhook created since then, and for what waits for a retry, in batches.
/// The number of deliveries replayed; nullopt: no such webhook.
std::optional<std::uint64_t> retry_failed_deliveries(Session& session, WebhookId webhook, UtcTime since);

}  // namespace store
