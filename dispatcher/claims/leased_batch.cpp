#include "dispatcher/claims/leased_batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/webhook/target_url.hpp"

namespace dispatcher {

void LeasedBatch::add_destination(store::Target target, platform::MonotonicTime read_at) {
  const auto webhook = target.webhook;
  auto host = webhook::host_and_port(target.url);
  destinations.insert_or_assign(webhook, Destination{std::move(target), std::move(host), read_at});
}

void LeasedBatch::add(store::Leased leased, const platform::Log& log) {
  for (const auto id : leased.foreign)
    log.error(
        "a delivery joined one entity's notification to another's webhook; it is cancelled (find out "
        "who wrote it)",
        {{"delivery", id}});
  worked = worked || !leased.deliveries.empty() || !leased.foreign.empty();
  for (auto& [webhook, target] : leased.targets) add_destination(std::move(target), leased.at);
  std::ranges::move(leased.deliveries, std::back_inserter(deliveries));
}

Destination destination_of(const store::Target& target, delivery::EntityId entity, bool probing) {
  return {target.webhook, entity, webhook::host_and_port(target.url), probing};
}

}  // namespace dispatcher
