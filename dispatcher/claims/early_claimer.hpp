// Claims deliveries ahead of the retry schedule, for the recovery of webhooks and for probes
// (docs/delivery.md#recovery-and-probes).
#pragma once

#include "dispatcher/claims/leased_batch.hpp"
#include "dispatcher/scan/queue_scanner.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/platform/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class EarlyClaimer {
 public:
  /// `session`, `scanner` and `slots` outlive this object.
  EarlyClaimer(store::Session& session, QueueScanner& scanner, FairSlots& slots,
               const platform::DeliverySettings& settings, const platform::Log& log)
      : session_(session),
        scanner_(scanner),
        slots_(slots),
        probe_interval_(settings.probe_interval),
        log_(log),
        leases_(settings.lease) {}

  /// Claims as far as there are free slots. If this throws, `into` has the deliveries that were leased before
  /// the exception, and they must be sent. If the database refuses to lease deliveries of a webhook, that
  /// webhook is tried again later, and those of the other webhooks are leased.
  void claim(LeasedBatch& into);

 private:
  void claim_recovering(LeasedBatch& into);
  void claim_probes(LeasedBatch& into);
  void refused(delivery::WebhookId webhook, const store::DatabaseError& error);

  store::Session& session_;
  QueueScanner& scanner_;
  FairSlots& slots_;
  platform::Milliseconds probe_interval_;  // 0: no probes
  platform::Log log_;
  LeaseSource leases_;
};

}  // namespace dispatcher
