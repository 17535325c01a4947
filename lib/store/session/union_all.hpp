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

/// Runs the query `one` for each of `seeks`, and returns the rows in the order of `seeks`. A statement makes
/// 1, 2, 4 … `most` seeks (`most` is a power of two), so that few statements are prepared. The seeks
/// that a statement has in excess of `seeks` get `none`, the parameters of a seek that finds nothing.
Rows query_seeks(Session& session, std::string_view one, const std::vector<Seek>& seeks, const Seek& none,
                 std::size_t most);

}  // namespace store
