// Who may have how many attempts in flight: no webhook holds up another (design section 2, "Claim"). Pure
// bookkeeping.
#pragma once

#include <map>

#include "store/types.hpp"

namespace dispatcher {

class Slots {
 public:
  Slots(unsigned total, unsigned per_webhook) : total_(total), per_webhook_(per_webhook) {}

  /// How many more attempts may start now. A webhook that is `probing` (its last attempt failed in transport
  /// or with 429/503) gets one, and all that probe together hold at most half of the total.
  unsigned available(store::WebhookId webhook, bool probing) const;
  void take(store::WebhookId webhook, bool probing);
  void give_back(store::WebhookId webhook);

  unsigned in_flight() const { return in_flight_; }
  bool full() const { return in_flight_ >= total_; }

 private:
  struct Use {
    unsigned in_flight = 0;
    unsigned probes = 0;
  };
  unsigned total_;
  unsigned per_webhook_;
  unsigned in_flight_ = 0;
  unsigned probes_ = 0;
  std::map<store::WebhookId, Use> webhooks_;  // only those with something in flight
};

}  // namespace dispatcher
