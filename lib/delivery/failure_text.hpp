// The Spanish texts of `ultimoError`: how the entity can mend its receiver. They reveal nothing of our own
// network.
#pragma once

#include <string>
#include <string_view>

#include "lib/delivery/attempt.hpp"
#include "lib/platform/config/config.hpp"

namespace delivery {

/// Empty for a 2xx; at most 500 characters. `host`, with its port, is the destination.
std::string failure_text(TransportResult result, int status, const platform::DeliverySettings& settings,
                         std::string_view host = {});

/// The text for a delivery that an outage of our own delays.
std::string outage_text(Silence silence);

}  // namespace delivery
