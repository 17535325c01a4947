// Reads what other sessions have not committed.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Runs `query`, one query outside of transactions, so that it also reads uncommitted rows: a hint, on which
/// nothing may be decided. At READ COMMITTED a query looks up each uncommitted row in the undo log before it
/// passes over that row: a million such rows take seconds. Costs one further, small statement.
template <class Query>
Rows read_uncommitted(Session& session, Query&& query) {
  // The isolation level applies to the next statement only. A session without an open transaction may send a
  // check of its server before a query, which would use up the level.
  const detail::OpenTransaction together(session);
  session.execute("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
  return query();
}

}  // namespace store
