// Who may have how many attempts in flight: no webhook holds up another (docs/delivery.md#promises). Pure
// bookkeeping; times are of the monotonic clock.
#pragma once

#include <map>

#include "delivery/ids.hpp"
#include "platform/clock.hpp"

namespace delivery {

class Slots {
 public:
  Slots(unsigned total, unsigned per_webhook) : total_(total), per_webhook_(per_webhook) {}

  /// How many more attempts may start now. A webhook begins with two and earns one more with each answer, up
  /// to its limit; one that has answered nothing for a second gets no more until it answers. One that is
  /// `probing` (its last attempt failed in transport or with 429/503) gets one, and all that probe together
  /// hold at most half of the total.
  unsigned available(WebhookId webhook, bool probing, platform::MonotonicTime now) const;
  void take(WebhookId webhook, bool probing, platform::MonotonicTime now);
  /// A delivery that is not sent, but has an outcome to be written down, takes one of its webhook's own.
  void take_unsent(WebhookId webhook) { ++webhooks_[webhook].unrecorded; }
  enum class Outcome {
    answered,
    asked_to_wait,  // 429 or 503
    failed,
    not_started,
  };
  /// The attempt is over: somebody else may start one. Its webhook has its own slot back once it is
  /// `recorded`, and none at all before that when it was asked to wait, or failed: how long it is to rest is
  /// not known yet.
  void ended(WebhookId webhook, Outcome outcome, platform::MonotonicTime now);
  void recorded(WebhookId webhook);

  unsigned in_flight() const { return in_flight_; }
  unsigned free() const { return full() ? 0 : total_ - in_flight_; }
  bool full() const { return in_flight_ >= total_; }

  /// What is going to be taken, without taking it. Outlived by the slots, which do not change meanwhile.
  class Plan {
   public:
    Plan(const Slots& slots, platform::MonotonicTime now) : slots_(&slots), now_(now) {}
    unsigned available(WebhookId webhook, bool probing) const;
    void take(WebhookId webhook, bool probing);
    bool full() const { return taken_ >= slots_->free(); }

   private:
    const Slots* slots_;
    platform::MonotonicTime now_;
    std::map<WebhookId, unsigned> by_webhook_;
    unsigned taken_ = 0;
    unsigned probes_ = 0;
  };

 private:
  struct Use {
    unsigned in_flight = 0;
    unsigned unrecorded = 0;       // ended, and not written down yet
    bool awaiting_result = false;  // one of those failed, or was asked to wait
    unsigned probes = 0;
    unsigned limit = 0;                  // the concurrency that it has earned
    platform::MonotonicTime progress{};  // its last answer, or its first attempt since nothing was in flight
  };
  unsigned limit_of(const Use& use, platform::MonotonicTime now) const;
  unsigned available(const Use& use, bool probing, unsigned taken, unsigned taken_in_all,
                     unsigned probes_taken, platform::MonotonicTime now) const;

  unsigned total_;
  unsigned per_webhook_;
  unsigned in_flight_ = 0;
  unsigned probes_ = 0;
  std::map<WebhookId, Use> webhooks_;
};

}  // namespace delivery
