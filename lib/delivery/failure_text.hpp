// The Spanish texts of `ultimoError`: how the entity can mend its receiver. They reveal nothing of our own
// network.
#pragma once

#include <string>
#include <string_view>

#include "lib/config/config.hpp"
#include "lib/delivery/attempt.hpp"

namespace delivery {

/// Returns the text for an attempt with this result, at most 500 characters. The text is empty for a 2xx, for
/// not_started, for local_failure and for sandboxed. `status` is the HTTP status of an `answered` attempt;
/// `host` is `host:port`.
std::string failure_text(TransportResult result, int status, const config::DeliverySettings& settings,
                         std::string_view host = {});

/// The text that says only which status the receiver answered, and that a 2xx is expected.
std::string unexpected_status_text(int status);

/// The text for an attempt that delivery.sandbox has kept from being sent.
inline constexpr std::string_view sandbox_text = "Entorno de pruebas: no se ha enviado";

/// The text for a delivery that is delayed because our own link or our name servers are down.
std::string outage_text(Silence silence);

}  // namespace delivery
