// Makes many seeks in few round trips.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"

namespace store {

/// Returns `(one) UNION ALL (one) …`.
std::string union_all(std::string_view one, std::size_t times);

/// The parameters of one seek.
using Seek = std::vector<Parameter>;

enum class Reads {
  committed,
  uncommitted,  // hints (uncommitted.hpp)
};

/// Runs the query `one` for each of `seeks`, and returns the rows in the order of `seeks`. Each statement
/// makes 1, 2, 4 … or `most` seeks (`most` is a power of two), so that only a few different statements are
/// prepared. If fewer of `seeks` are left than the statement makes, its last seeks get the parameters `none`,
/// with which a seek finds nothing.
Rows query_seeks(Session& session, std::string_view one, const std::vector<Seek>& seeks, const Seek& none,
                 std::size_t most, Reads reads = Reads::committed);

}  // namespace store
