#include "lib/store/backlog/blocked_inserts.hpp"

#include "lib/store/session/open_transactions.hpp"

namespace store {

namespace {

/// Locks between writers with neighbouring keys last for milliseconds.
constexpr std::chrono::seconds shortest{3};

constexpr std::string_view longest_wait = "SELECT espera_de_las_inserciones() AS segundos";

}  // namespace

std::optional<BlockedInserts> find_blocked_inserts(Session& session) {
  const std::chrono::seconds longest(
      session.query(longest_wait).at(0).optional_integer("segundos").value_or(0));
  if (longest < shortest) return std::nullopt;
  return BlockedInserts{longest, describe_lock_holders(session, longest)};
}

}  // namespace store
