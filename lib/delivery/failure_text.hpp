// The Spanish texts of `ultimoError`: how the entity can mend its receiver. They reveal nothing of our own
// network.
#pragma once

#include <string>
#include <string_view>

#include "lib/delivery/attempt.hpp"
#include "lib/platform/config/config.hpp"

namespace delivery {

/// At most 500 characters; empty for a 2xx, not_started and local_failure. `host` is `host:port`.
std::string failure_text(TransportResult result, int status, const platform::DeliverySettings& settings,
                         std::string_view host = {});

/// The text for a status that has no consequence but a retry.
std::string unexpected_status_text(int status);

/// The text for a delivery that an outage of our own delays.
std::string outage_text(Silence silence);

}  // namespace delivery
