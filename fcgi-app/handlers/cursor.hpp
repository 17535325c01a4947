// The cursor of a list: opaque to the client, who can neither make a cursor nor use one for another list or
// other filters.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/webhook/sealed_secret.hpp"

namespace api {

/// `question` names the list that the cursor belongs to: the resource and the filters.
std::string make_cursor(const webhook::KeyRing& keys, std::string_view question, std::int64_t position);

/// Throws BadRequest when the cursor was not made for this question.
std::int64_t read_cursor(const webhook::KeyRing& keys, std::string_view question, std::string_view cursor);

}  // namespace api
