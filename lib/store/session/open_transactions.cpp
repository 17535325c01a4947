#include "lib/store/session/open_transactions.hpp"

namespace store {

namespace {

/// The server gives a transaction's start in the server's own time zone, so the statement converts it to UTC.
constexpr std::string_view open_for_long = R"sql(
  SELECT p.id, p.user, p.host, p.command, t.trx_rows_locked > 0 AS locks_rows,
         DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%sZ') AS since
  FROM information_schema.innodb_trx t
  JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
  WHERE p.id <> CONNECTION_ID()
    AND TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1 >= ?
  ORDER BY t.trx_started
  LIMIT 3)sql";

}  // namespace

std::vector<OpenTransactionOf> find_open_transactions(Session& session, std::chrono::seconds age) {
  std::vector<OpenTransactionOf> result;
  for (const auto& row : session.query(open_for_long, std::int64_t{age.count()}))
    result.push_back({row.text("id"), row.text("user"), row.text("host"), row.text("command"),
                      row.text("since"), row.boolean("locks_rows")});
  return result;
}

std::string describe_lock_holders(Session& session, std::chrono::seconds age) try {
  std::string text;
  for (const auto& one : find_open_transactions(session, age)) {
    if (!one.locks_rows) continue;
    text += (text.empty() ? "" : "; ") + std::string("connection ") + one.connection + " of " + one.user +
            " from " + one.host + " since " + one.since;
  }
  return text.empty() ? "none has locks for so long" : text;
} catch (const DatabaseError& error) {
  return error.code == no_right_to_see ? "this user may not see them" : error.what();
}

}  // namespace store
