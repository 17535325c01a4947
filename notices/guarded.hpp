#pragma once

#include <exception>
#include <string_view>

#include "lib/platform/log.hpp"
#include "lib/store/session/errors.hpp"

namespace notices {

/// Does `work`, and logs `failure` if it throws, so that one row ends no run. Returns whether it is done.
/// Throws store::Unavailable: without the database nothing goes on.
template <class Work>
bool guarded(const platform::Log& log, std::string_view failure, Work work) {
  try {
    work();
    return true;
  } catch (const store::Unavailable&) {
    throw;
  } catch (const std::exception& error) {
    log.error(failure, {{"error", error.what()}});
    return false;
  }
}

}  // namespace notices
