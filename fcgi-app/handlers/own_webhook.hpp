// Finds the webhook that a path names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/http/errors.hpp"

namespace api {

/// Reads a positive 64-bit integer as the API writes it: no sign, no leading zero.
std::optional<std::int64_t> parse_id(std::string_view text);

/// Returns the answer for an id that never existed, that belongs to another entity or that is malformed. It
/// is the same in the three cases, so that it reveals nothing of other entities.
NotFound no_such_webhook();

/// Returns the answer for a webhook that is not active, where that prevents the request.
Conflict inactive_webhook();

/// Returns the answer for a name that another webhook of the entity has.
Conflict name_taken();

/// Returns the caller's webhook with this id, by default the id in the path. Throws NotFound.
const store::Webhook& own_webhook(const Call& call, std::string_view id);
const store::Webhook& own_webhook(const Call& call);

}  // namespace api
