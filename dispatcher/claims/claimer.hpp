// Claims due deliveries of the webhooks that FairSlots chooses.
#pragma once

#include <deque>
#include <vector>

#include "dispatcher/observation/once_per_minute.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "dispatcher/schedule/leased_batch.hpp"
#include "dispatcher/schedule/ready_set.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class Claimer {
 public:
  /// `session`, `ready` and `slots` outlive this object.
  Claimer(store::Session& session, ReadySet& ready, FairSlots& slots, platform::Milliseconds lease,
          const platform::Log& log)
      : session_(session), ready_(ready), slots_(slots), log_(log), leases_(lease) {}

  /// Claims in the order of FairSlots, as far as there are free slots. Appends to `into` even if it throws:
  /// what has been leased must be sent. Throws errors of the session or the server. If the database refuses
  /// to lease deliveries of a webhook, only that webhook waits.
  void claim(LeasedBatch& into);
  /// To be called at least once a minute: logs what claims have cancelled, and left to newer releases, since
  /// the last line. `stopping`: logs the rest.
  void report(bool stopping);

 private:
  std::vector<delivery::WebhookId> take_due();
  void claim_part(const std::vector<store::ClaimRequest>& requests, LeasedBatch& into);

  store::Session& session_;
  ReadySet& ready_;
  FairSlots& slots_;
  platform::Log log_;
  OncePerMinute expired_;
  OncePerMinute for_newer_;
  LeaseSource leases_;
  std::deque<delivery::WebhookId> unidentified_;  // due, but their entity and host are not known yet
};

}  // namespace dispatcher
