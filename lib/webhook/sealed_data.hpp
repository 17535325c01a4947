// The data of a test event at rest. An entity may put anything in datosExtra, a credential too: a dump of the
// database does not show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/webhook/event.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace webhook {

/// `{"clave":"<id of the key>","sellado":"<base64>"}`, JSON as `datos` must be. Bound to the entity and the
/// event rather than to the row, whose id is not known before it is written: so the API needs no right to
/// change a notification, and what is moved to another entity's row does not open.
std::string seal_test_data(const KeyRing& keys, std::int64_t entity, Event event, std::string_view data_json);

/// nullopt when it is not that, the key is unknown, or it was sealed for another entity or event.
std::optional<std::string> open_test_data(const KeyRing& keys, std::int64_t entity, Event event,
                                          std::string_view stored);

}  // namespace webhook
