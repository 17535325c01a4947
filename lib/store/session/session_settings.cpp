#include "lib/store/session/session_settings.hpp"

namespace store {

namespace {

/// Only MariaDB reads `/*M! … */`, only MySQL `/*!80000 … */`. No value is DEFAULT, which would be the
/// server's own setting.
constexpr const char* settings =
    "SET SESSION"
    // The meaning of a statement.
    " sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION'"
    ", time_zone = '+00:00'"
    ", character_set_client = utf8mb4"
    ", character_set_results = utf8mb4"
    ", collation_connection = utf8mb4_general_ci"
    ", lc_messages = 'en_US'"  // lib/store/session/errors.cpp matches texts
    ", sql_auto_is_null = 0"
    ", div_precision_increment = 4"
    ", max_sort_length = 1024"
    ", default_storage_engine = InnoDB"
    // Transactions. The isolation level is missing here: the connector overwrites it after these settings, so
    // the session sets it once the connector has connected.
    ", autocommit = 1"
    ", completion_type = 0"
    "/*M! , tx_read_only = 0 */"
    "/*!80000 , transaction_read_only = 0 */"
    // Checks.
    ", foreign_key_checks = 1"
    ", unique_checks = 1"
    "/*M! , check_constraint_checks = 1 */"
    ", sql_safe_updates = 0"
    ", sql_select_limit = 18446744073709551615"
    ", max_join_size = 18446744073709551615"
    ", sql_big_selects = 1"
    // Time limits of statements and idle connections.
    "/*M! , max_statement_time = 0 */"
    "/*!80000 , max_execution_time = 0 */"
    ", wait_timeout = 28800"
    ", net_read_timeout = 30"
    ", net_write_timeout = 60"
    // A host that disappears during a transaction leaves its rows locked until the server notices, by TCP's
    // keepalive after two hours. The 4 s are less than the default lock_wait_s (5 s), so that a session that
    // waits for the rows gets them. MySQL has no such variable.
    "/*M! , idle_transaction_timeout = 4, idle_write_transaction_timeout = 0,"
    " idle_readonly_transaction_timeout = 0 */";

}  // namespace

std::string session_settings(int lock_wait_s) {
  return std::string(settings) + ", lock_wait_timeout = " + std::to_string(table_lock_wait_s) +
         ", innodb_lock_wait_timeout = " + std::to_string(lock_wait_s);
}

}  // namespace store
