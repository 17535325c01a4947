#include "delivery/slots.hpp"

#include <algorithm>

namespace delivery {

namespace {

using namespace std::chrono_literals;

constexpr unsigned first_limit = 2;
constexpr auto forgotten_after = 10s;  // without anything in flight
constexpr auto stalled_after = 1s;     // without an answer

unsigned less(unsigned from, unsigned taken) { return from - std::min(from, taken); }

}  // namespace

unsigned Slots::limit_of(const Use& use, platform::MonotonicTime now) const {
  const bool forgotten = use.in_flight == 0 && now - use.progress > forgotten_after;
  return std::min(per_webhook_, forgotten ? first_limit : std::max(use.limit, first_limit));
}

unsigned Slots::available(const Use& use, bool probing, unsigned taken, unsigned taken_in_all,
                          unsigned probes_taken, platform::MonotonicTime now) const {
  if (use.awaiting_result) return 0;
  const bool scarce = in_flight_ + taken_in_all >= total_ / 2;
  if (scarce && use.in_flight > 0 && now - use.progress > stalled_after) return 0;
  const unsigned limit = scarce ? limit_of(use, now) : per_webhook_;
  const unsigned own = less(probing ? 1 : limit, use.in_flight + use.unrecorded + taken);
  const unsigned result = std::min(own, less(free(), taken_in_all));
  if (!probing) return result;
  return std::min(result, less(std::max(1U, total_ / 2), probes_ + probes_taken));
}

unsigned Slots::available(WebhookId webhook, bool probing, platform::MonotonicTime now) const {
  return Plan(*this, now).available(webhook, probing);
}

void Slots::take(WebhookId webhook, bool probing, platform::MonotonicTime now) {
  auto& use = webhooks_[webhook];
  use.limit = limit_of(use, now);
  if (use.in_flight++ == 0) use.progress = now;
  ++in_flight_;
  if (probing) {
    ++use.probes;
    ++probes_;
  }
}

void Slots::ended(WebhookId webhook, Outcome outcome, platform::MonotonicTime now) {
  const auto used = webhooks_.find(webhook);
  if (used == webhooks_.end() || used->second.in_flight == 0) return;
  auto& use = used->second;
  --in_flight_;
  --use.in_flight;
  ++use.unrecorded;
  use.awaiting_result =
      use.awaiting_result || outcome == Outcome::failed || outcome == Outcome::asked_to_wait;
  if (use.probes > 0) {
    --use.probes;
    --probes_;
  }
  if (outcome == Outcome::answered || outcome == Outcome::asked_to_wait) {
    use.progress = now;
    use.limit = std::min(per_webhook_, use.limit + 1);
  } else if (outcome == Outcome::failed) {
    use.limit = first_limit;
  }
}

void Slots::recorded(WebhookId webhook) {
  const auto used = webhooks_.find(webhook);
  if (used == webhooks_.end() || used->second.unrecorded == 0) return;
  if (--used->second.unrecorded == 0) used->second.awaiting_result = false;
}

unsigned Slots::Plan::available(WebhookId webhook, bool probing) const {
  const auto used = slots_->webhooks_.find(webhook);
  const auto taken = by_webhook_.find(webhook);
  return slots_->available(used == slots_->webhooks_.end() ? Use{} : used->second, probing,
                          taken == by_webhook_.end() ? 0 : taken->second, taken_, probes_, now_);
}

void Slots::Plan::take(WebhookId webhook, bool probing) {
  ++by_webhook_[webhook];
  ++taken_;
  if (probing) ++probes_;
}

}  // namespace delivery
