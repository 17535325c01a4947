// The two fields by which people know an event: what it is about, and its title or what tells it from others.
#pragma once

#include <array>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/webhook/event.hpp"

namespace webhook {

/// The names of the two fields, which every `data` of the event has (docs/events.md).
std::array<std::string_view, 2> summary_fields(Event event);

/// Returns an object with the two fields of `data`, as they are there, numbers spelt alike. Returns null if
/// `data` is no JSON, or lacks one of them: a notification of the evaluation system never does.
json::Value event_summary(Event event, std::string_view data);

}  // namespace webhook
