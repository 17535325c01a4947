#include "lib/store/session/error_stats.hpp"

namespace store {

ErrorKind kind_of(const DatabaseError& error) {
  if (dynamic_cast<const Unavailable*>(&error) != nullptr) return ErrorKind::unavailable;
  if (dynamic_cast<const Conflict*>(&error) != nullptr) return ErrorKind::conflict;
  return ErrorKind::refused;
}

SessionOptions ErrorStats::observed(SessionOptions options, const platform::Log& log) {
  options.on_error = [this](const DatabaseError& error) { note(error); };
  options.on_skipped = [log](const std::string& error) {
    log.warning("a database server cannot be used; trying the next one", {{"error", error}});
  };
  return options;
}

void ErrorStats::note(const DatabaseError& error) {
  const auto kind = kind_of(error);
  count_(kind);
  if (kind == ErrorKind::conflict) return;
  const std::scoped_lock lock(mutex_);
  last_ = platform::format_iso8601(platform::utc_now()) + " " + error.what();
}

std::string ErrorStats::last() const {
  const std::scoped_lock lock(mutex_);
  return last_;
}

}  // namespace store
