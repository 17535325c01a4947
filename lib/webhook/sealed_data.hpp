// Seals the data of a test event in the database: an entity may put a credential in datosExtra, and a dump
// must not show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/webhook/event.hpp"
#include "lib/webhook/ids.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace webhook {

/// Returns `{"clave":"<id of the key>","sellado":"<base64>"}`, because `datos` must be JSON. The text is
/// bound to the entity and the event, so a text copied to another entity's row does not open. It is not bound
/// to the row: the id is unknown before the INSERT, and the API may not update the row after it.
std::string seal_test_data(const KeyRing& keys, EntityId entity, Event event, std::string_view data_json);

/// Returns nullopt when `stored` has another form, its key is unknown, or it was sealed for another entity or
/// event.
std::optional<std::string> open_test_data(const KeyRing& keys, EntityId entity, Event event,
                                          std::string_view stored);

}  // namespace webhook
