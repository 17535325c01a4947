// Claims what is due, of the webhooks whose turn it is.
#pragma once

#include <deque>
#include <vector>

#include "dispatcher/intake/leased_batch.hpp"
#include "dispatcher/intake/newer_rows.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class Claimer {
 public:
  /// `session`, `scanner` and `slots` outlive it.
  Claimer(store::Session& session, QueueScanner& scanner, FairSlots& slots, platform::Milliseconds lease,
          const platform::Log& log)
      : session_(session), scanner_(scanner), slots_(slots), log_(log), newer_(log), leases_(lease) {}

  /// In the order of the slots and as far as they go. Appends to `into`, also when it throws: what has been
  /// leased is to be sent. Throws what concerns the session or the server; a webhook whose deliveries the
  /// database refuses to lease waits alone.
  void claim(LeasedBatch& into);

 private:
  std::vector<delivery::WebhookId> take_due();
  void claim_part(const std::vector<store::ClaimRequest>& requests, LeasedBatch& into);

  store::Session& session_;
  QueueScanner& scanner_;
  FairSlots& slots_;
  platform::Log log_;
  NewerRows newer_;
  LeaseSource leases_;
  std::deque<delivery::WebhookId> unidentified_;  // due, and their entity and host are not known yet
};

}  // namespace dispatcher
