#include "lib/store/session/open_transactions.hpp"

namespace store {

namespace {

/// The server gives a transaction's start in the server's own time zone, so the statement converts it to UTC.
constexpr std::string_view open_for_long = R"sql(
  SELECT p.id, p.user, p.host, p.command, t.trx_rows_locked > 0 AS locks_rows,
         t.trx_state = 'LOCK WAIT' AS waits,
         DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%sZ') AS since
  FROM information_schema.innodb_trx t
  JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
  WHERE p.id <> CONNECTION_ID()
    AND TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1 >= ?
  ORDER BY t.trx_started
  LIMIT 3)sql";

/// The function of sql/grants/sessions.sql, which apientidades-admin may execute. Without the right PROCESS,
/// MySQL shows a user only its own sessions, without an error.
constexpr std::string_view holders_shown = R"sql(
  SELECT sesion_con_bloqueos(?, n.cual) AS sesion
  FROM (SELECT 0 AS cual UNION ALL SELECT 1 UNION ALL SELECT 2) n ORDER BY n.cual)sql";

void append(std::string& text, const std::string& one) { text += (text.empty() ? "" : "; ") + one; }

std::string holders_seen(Session& session, std::chrono::seconds age) {
  std::string text;
  for (const auto& one : find_open_transactions(session, age)) {
    if (one.locks_rows && !one.waits)
      append(text, "connection " + one.connection + " of " + one.user + " from " + one.host + " since " +
                       one.since);
  }
  return text;
}

std::string holders_told(Session& session, std::chrono::seconds age) {
  std::string text;
  for (const auto& row : session.query(holders_shown, std::int64_t{age.count()}))
    if (const auto one = row.optional_text("sesion")) append(text, *one);
  return text;
}

}  // namespace

std::vector<OpenTransactionOf> find_open_transactions(Session& session, std::chrono::seconds age) {
  std::vector<OpenTransactionOf> result;
  for (const auto& row : session.query(open_for_long, std::int64_t{age.count()}))
    result.push_back({row.text("id"), row.text("user"), row.text("host"), row.text("command"),
                      row.text("since"), row.boolean("locks_rows"), row.boolean("waits")});
  return result;
}

std::string describe_lock_holders(Session& session, std::chrono::seconds age) {
  const auto described = [&](auto& holders) {
    const auto text = holders(session, age);
    return text.empty() ? "none has locks for so long" : text;
  };
  try {
    return described(holders_told);
  } catch (const DatabaseError&) {
    // There is no such function, or this user may not execute it.
  }
  try {
    return described(holders_seen);
  } catch (const DatabaseError& error) {
    return error.code == no_right_to_see ? "this user may not see them" : error.what();
  }
}

}  // namespace store
