#include "fcgi-app/health.hpp"

#include <optional>

namespace api {

bool Health::good(platform::MonotonicTime now, const std::function<bool()>& ask) {
  const auto last = [&](platform::Milliseconds validity_of_it) -> std::optional<bool> {
    const std::scoped_lock lock(mutex_);
    if (!known_ || now - answered_ >= validity_of_it) return std::nullopt;
    return good_;
  };
  if (const auto answer = last(validity)) return *answer;
  const std::unique_lock asking(asking_, std::try_to_lock);
  if (!asking) return last(patience).value_or(false);
  const bool answer = ask();
  const std::scoped_lock lock(mutex_);
  good_ = answer;
  known_ = true;
  answered_ = now;
  return answer;
}

}  // namespace api
