#include "fcgi-app/observation.hpp"

namespace api {

std::string Observation::status(unsigned threads) const {
  std::string text = std::to_string(busy.load()) + " of " + std::to_string(threads) + " threads busy; " +
                     std::to_string(answered.load()) + " requests answered";
  if (const auto last = errors.last(); !last.empty()) text += "; last error " + last;
  return text;
}

}  // namespace api
