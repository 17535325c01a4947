// Many seeks in one round trip.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace store {

/// `(one) UNION ALL (one) …`. Shorter requests are padded by their caller, so that it is prepared once.
inline std::string union_all(std::string_view one, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    if (i > 0) all += " UNION ALL ";
    all.append("(").append(one).append(")");
  }
  return all;
}

}  // namespace store
