// The webhook that a path names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"

namespace api {

/// A positive 64-bit integer as the API writes it: no sign, no leading zero.
std::optional<std::int64_t> parse_id(std::string_view text);

/// One answer for what never existed, is another entity's or cannot be an identifier: it tells nothing of the
/// others.
NotFound no_such_webhook();

/// Of the caller's; throws NotFound.
const store::Webhook& own_webhook(const Call& call);

}  // namespace api
