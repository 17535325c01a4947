// Walks over the contacts, a page at a time, and writes what must be told (decide.hpp) as rows.
#pragma once

#include "lib/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/store/session/session.hpp"

namespace notices {

/// Begins no notice but codes while the database's clock is in doubt or an outage of ours lasts. Returns the
/// number of new notices. Ends early at a stop: the next run finds the rest.
std::uint64_t gather(store::Session& session, const config::Settings& settings,
                     const platform::StopSignal& stop, const platform::Log& log);

/// Adds the notices with the codes that were asked for. Returns their number; 0 if that fails, which it logs.
std::uint64_t gather_codes(store::Session& session, const platform::Log& log);

}  // namespace notices
