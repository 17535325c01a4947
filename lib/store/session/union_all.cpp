#include "lib/store/session/union_all.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "lib/store/session/uncommitted.hpp"

namespace store {

std::string union_all(std::string_view one, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    if (i > 0) all += " UNION ALL ";
    all.append("(").append(one).append(")");
  }
  return all;
}

Rows query_seeks(Session& session, std::string_view one, const std::vector<Seek>& seeks, const Seek& none,
                 std::size_t most, Reads reads) {
  Rows result;
  for (std::size_t first = 0; first < seeks.size();) {
    // The number of seeks in a statement is a power of two. Padding with `none` fills the statement up to the
    // next power of two if at most a quarter is padding: that costs less than a further round trip.
    const auto left = std::min(seeks.size() - first, most);
    const auto padded = std::bit_ceil(left);
    const auto size = left >= padded - padded / 4 ? padded : std::bit_floor(left);
    std::vector<Parameter> parameters;
    for (std::size_t i = first; i < first + size; ++i) {
      const auto& seek = i < seeks.size() ? seeks[i] : none;
      parameters.insert(parameters.end(), seek.begin(), seek.end());
    }
    const auto run = [&] { return session.run_query(union_all(one, size), parameters); };
    auto rows = reads == Reads::uncommitted ? read_uncommitted(session, run) : run();
    std::ranges::move(rows, std::back_inserter(result));
    first += size;
  }
  return result;
}

}  // namespace store
