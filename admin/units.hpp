// What the units of this host need to start, as their users see it.
#pragma once

#include <vector>

#include "lib/store/programs.hpp"

namespace admin {

/// Reads the configuration of the units (config::default_config_path) and the files that it names as the
/// user of each unit, and the passwords that systemd hands to the units (LoadCredential=). Only root may.
/// `settings`: of the units, as root reads them. Throws FileError if a drop-in cannot be read.
std::vector<store::StartProblem> problems_of_units(const config::Settings& settings);

}  // namespace admin
