// What the processes of this host have in force, from the notes in their RuntimeDirectories.
#pragma once

#include <string>
#include <string_view>

#include "admin/output/output.hpp"
#include "lib/config/config.hpp"

namespace admin {

/// Formats `key=value  # source`, with most sources aligned. Ends with a line end.
std::string show_line(const config::KeyValue& key);

/// Whether a dispatcher that this user may see has a value for the key that is not empty.
bool dispatcher_runs_with(std::string_view key);

// Both throw Failure if there is no note.

Result show_running();
/// The keys that have other values in force than in `file`; exit_failed if there are any.
Result diff_running(const config::Config& file);

}  // namespace admin
