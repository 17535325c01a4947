#include "dispatcher/schedule/leased_batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/webhook/target_url.hpp"

namespace dispatcher {

void LeasedBatch::add_target(store::Target target, platform::MonotonicTime read_at) {
  const auto webhook = target.webhook;
  auto host = webhook::host_and_port(target.url);
  targets.insert_or_assign(webhook, CurrentTarget{std::move(target), std::move(host), read_at});
}

void LeasedBatch::add(store::Leased leased, const platform::Log& log) {
  for (const auto id : leased.foreign)
    log.error(
        "a delivery joined one entity's notification to another's webhook; it is cancelled (find out "
        "who wrote it)",
        {{"delivery", id}});
  worked = worked || !leased.deliveries.empty() || !leased.foreign.empty() || leased.expired > 0;
  for (auto& [webhook, target] : leased.targets) add_target(std::move(target), leased.at);
  std::ranges::move(leased.deliveries, std::back_inserter(deliveries));
}

Destination destination_of(const store::Target& target, delivery::EntityId entity, bool one_at_a_time) {
  return {target.webhook, entity, webhook::host_and_port(target.url), one_at_a_time};
}

}  // namespace dispatcher
