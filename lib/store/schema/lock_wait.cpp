#include "lib/store/schema/lock_wait.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "lib/store/session/open_transactions.hpp"

namespace store {

namespace {

/// A statement that the database's root can paste.
constexpr std::string_view for_root =
    "SELECT p.id, p.user, p.host, p.command, t.trx_started FROM information_schema.innodb_trx t JOIN "
    "information_schema.processlist p ON p.id = t.trx_mysql_thread_id ORDER BY t.trx_started;";

std::string described(const OpenTransactionOf& one) {
  return "\n  open since " + one.since + ": connection " + one.connection + " of " + one.user + " from " +
         one.host + " (" + one.command + "); to end it: KILL " + one.connection;
}

/// Returns one line for each transaction that was open during the whole wait, because it may hold the lock,
/// or the reason why none can be named. Each line begins with a line feed.
std::string holders(Session& session, const Patience& patience) try {
  std::string text;
  for (const auto& one : find_open_transactions(session, std::chrono::seconds(patience.wait_s)))
    text += described(one);
  return text.empty()
             ? "\n  no connection has had a transaction open for so long: the lock may come from LOCK "
               "TABLES or a backup (SHOW FULL PROCESSLIST), or from a prepared transaction that lost its "
               "connection (XA RECOVER; XA ROLLBACK ends it)"
             : text;
} catch (const DatabaseError& error) {
  if (error.code != no_right_to_see)
    return "\n  the lock's holder cannot be named: " + std::string(error.what());
  return "\n  This user may not see who holds the lock. This statement shows the database's root the open "
         "transactions, oldest first (KILL and the id end one; XA RECOVER shows prepared ones without a "
         "connection):\n  " +
         std::string(for_root);
}

std::string seconds(platform::Milliseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

void limit_lock_wait(Session& session, const Patience& patience) {
  session.execute("SET SESSION lock_wait_timeout = " + std::to_string(patience.wait_s));
}

void execute_in_tries(Session& session, std::string_view statement, const Patience& patience,
                      const std::function<void(const std::string&)>& progress) {
  std::string told;
  for (int done = 1;; ++done) {
    try {
      return session.execute(statement);
    } catch (const LockTimeout&) {
      auto connections = holders(session, patience);
      const bool last = done >= patience.tries;
      progress("held up: another connection has the table locked (try " + std::to_string(done) + " of " +
               std::to_string(patience.tries) +
               (last ? ")" : "; the next in " + seconds(patience.pause) + "; others use it until then)") +
               (connections == told ? "" : connections));
      told = std::move(connections);
      if (last) throw;
    }
    std::this_thread::sleep_for(patience.pause);
  }
}

}  // namespace store
