// Sends the mails that are due, at a bounded rate.
#pragma once

#include "lib/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace notices {

struct Posted {
  unsigned sent = 0;
  unsigned deferred = 0;
  unsigned refused = 0;
};

/// Ends when nothing is due, the mail server is unavailable, a stop is requested, or after longest_run.
/// Throws config::ConfigError for a password file that it cannot read.
Posted post(store::Session& session, const config::Settings& settings, const webhook::KeyRing& keys,
            const platform::StopSignal& stop, const platform::Log& log);

inline constexpr std::chrono::minutes longest_run{12};
/// Mails begin this far apart on average, or further: 25 a second.
inline constexpr platform::Milliseconds mail_interval{40};

/// How long a mail waits after its failed try of this number, from 1 on: 1, 2, 4 … minutes, two hours at
/// most.
platform::Milliseconds wait_after(unsigned tries);

}  // namespace notices
