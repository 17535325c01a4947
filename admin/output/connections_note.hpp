// Whether the database server has connections enough for all that use it: the arithmetic of docs/scaling.md.
#pragma once

#include <cstdint>
#include <string>

#include "lib/config/config.hpp"

namespace admin {

/// The handler processes of this host: 1 and 2, and those that the operator has enabled. `wants`: the folder
/// in which systemd has a link for each enabled unit of apientidades.target; it need not exist.
unsigned handler_processes(const std::string& wants);

/// For a server whose `max_connections` is less than what the evaluation system and this host's programs may
/// take together. One line, or empty.
std::string connections_note(const config::Settings& settings, unsigned handlers,
                             std::int64_t max_connections);

}  // namespace admin
