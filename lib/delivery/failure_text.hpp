// `ultimoError`: what tells the entity how to mend its receiver, in Spanish, and never anything of our own
// network.
#pragma once

#include <string>
#include <string_view>

#include "lib/delivery/attempt.hpp"
#include "lib/platform/config.hpp"

namespace delivery {

/// Empty for a 2xx. At most 500 characters.
/// `host`, with its port, is where it was sent.
std::string failure_text(TransportResult result, int status, const platform::DeliverySettings& settings,
                         std::string_view host = {});

/// Of a delivery that an outage of our own delays.
std::string outage_text(Silence silence);

}  // namespace delivery
