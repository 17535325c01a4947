#include "fcgi-app/health.hpp"

#include <optional>

namespace api {

namespace {
constexpr unsigned turns = 11;  // checks in a round, of which one is for the requirements
}

/// Chooses the requirements once in a round, and otherwise a read and a write in turn, so that all three
/// kinds together cost no more checks than one kind would.
DatabaseCheck Health::next() const {
  if (turn_ % turns == 0) return DatabaseCheck::requirements;
  return turn_ % turns % 2 == 1 ? DatabaseCheck::read : DatabaseCheck::write;
}

bool Health::good(platform::MonotonicTime now, const std::function<bool(DatabaseCheck)>& ask) {
  const auto last = [&](platform::Milliseconds validity_of_it) -> std::optional<bool> {
    const std::scoped_lock lock(mutex_);
    if (!known_ || now - answered_ >= validity_of_it) return std::nullopt;
    return good_;
  };
  if (const auto answer = last(validity)) return *answer;
  const std::unique_lock asking(asking_, std::try_to_lock);
  if (!asking) return last(patience).value_or(false);
  const DatabaseCheck check = next();
  const bool well = ask(check);
  went_well_.at(static_cast<std::size_t>(check)) = well;
  if (well) ++turn_;
  const bool answer = went_well_ == decltype(went_well_){true, true, true};
  const std::scoped_lock lock(mutex_);
  good_ = answer;
  known_ = true;
  answered_ = now;
  return answer;
}

}  // namespace api
