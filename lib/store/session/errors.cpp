#include "lib/store/session/errors.hpp"

#include <algorithm>
#include <array>

namespace store {

namespace {

/// The connection is lost, or the server refuses new connections. 1820, 1862: the password has expired.
constexpr std::array connection_codes = {1040, 1053, 1129, 1158, 1159, 1160, 1161, 1184,
                                         1203, 1226, 1820, 1862, 1927, 2002, 2003, 2005,
                                         2006, 2013, 2014, 2026, 2055, 3168, 3169, 4031};
/// 1047: the node has left its cluster's majority; 1180: the node left during a COMMIT; 3032, 3100, 3796,
/// 3797, 3798, 3799: Group Replication's codes for the same.
constexpr std::array cluster_codes = {1047, 1180, 3032, 3100, 3796, 3797, 3798, 3799};
/// The server accepts no writes: read-only (1290, 1792, 1836, 1874), a full disk (1021, 1026, 1030, 1114,
/// 3675), no memory, threads or prepared statements (1037, 1038, 1041, 1135, 1206, 1461, 1637), a binary log
/// that cannot hold the statement (1197, 1534, 1598, 1665).
constexpr std::array no_write_codes = {1021, 1026, 1030, 1037, 1038, 1041, 1114, 1135, 1197, 1206,
                                       1290, 1461, 1534, 1598, 1637, 1665, 1792, 1836, 1874, 3675};
/// Conflicts of rows, and certification failures of clusters (1213 at any statement, COMMIT included; 3101):
/// the whole transaction may run again.
constexpr std::array conflict_codes = {1020, 1213, 3101};
/// Error 1180 is a conflict if its message contains `overruled_at_commit`: Group Replication preferred
/// another node's transaction. The node did not leave the cluster.
constexpr int commit_code = 1180;
constexpr std::string_view overruled_at_commit = "Got error 149 ";  // HA_ERR_LOCK_DEADLOCK
/// KILL QUERY, and statements beyond the operator's time limit.
constexpr std::array interrupted_codes = {1317, 1969, 3024};
constexpr int duplicate_key_code = 1062;
/// Errors that a row's content causes, although their SQLSTATE (HY000, 01000) belongs to none of
/// `content_classes`. 3819 is MySQL's code for a failed CHECK.
constexpr std::array content_codes = {1265, 1366, 3819};
constexpr std::array<std::string_view, 5> content_classes = {"21", "22", "23", "44", "45"};

/// How OpenSSL and the system say that the server ended the connection, for example because it stops.
constexpr std::array<std::string_view, 3> ended_connection = {"unexpected eof", "Connection reset",
                                                              "Broken pipe"};

bool is_ended_connection(std::string_view message) {
  return std::ranges::any_of(ended_connection, [&](auto text) { return message.find(text) != message.npos; });
}

/// The operator's remedy for an error that is not the program's fault.
std::string_view remedy(int code, std::string_view message) {
  switch (code) {
    case 1044:
    case 1142:
    case 1143:
      return " (the rights that each program needs are in sql/grants)";
    case 1045:
    case 1698:
      return " (check database.user and database.password_file: apientidades-admin config show)";
    case refused_authentication_code:
      return " (the database's user must authenticate by mysql_native_password or ed25519; "
             "caching_sha2_password needs database.tls_ca or the socket)";
    case 1820:
    case 1862:
    case 3118:
    case 3955:
    case 4151:
      return " (unlock the database's user and set its password again: apientidades-setup-database)";
    case 1021:
    case 1026:
    case 1030:
    case 1114:
    case 3675:
      return " (is the database server's disk full?)";
    case 1290:
    case 1792:
    case 1836:
    case 1874:
      return " (the server takes no writes: SET GLOBAL read_only = OFF, or name the primary in "
             "database.hosts)";
    case 1461:
      return " (all programs together may prepare max_prepared_stmt_count statements: raise it, and find the "
             "program that closes none)";
    case 1665:
      return " (SET GLOBAL binlog_format = 'ROW', and in the server's option file)";
    case no_number_code:
      return " (an INSERT … SELECT of the operator or of an older version is at work, or no numbers are "
             "left)";
    case 1049:
      return " (create the database, or check database.name: apientidades-admin config show)";
    case 1054:
    case 1146:
      return " (bring the tables up to date: apientidades-admin db migrate)";
    case lock_timeout_code:
      return " (another session keeps it locked, for example a backup: SHOW FULL PROCESSLIST)";
    case tls_code:
      if (is_ended_connection(message)) return " (the server ended the connection: its own log says why)";
      return " (check database.tls_ca, and that database.hosts names the server as its certificate does)";
    default:
      return "";
  }
}

bool contains(const auto& codes, int code) { return std::ranges::find(codes, code) != codes.end(); }

bool is_conflict(int code, std::string_view message) {
  return contains(conflict_codes, code) ||
         (code == commit_code && message.find(overruled_at_commit) != std::string_view::npos);
}

bool is_of_content(int code, std::string_view state) {
  return contains(content_codes, code) ||
         std::ranges::find(content_classes, state.substr(0, 2)) != content_classes.end();
}

}  // namespace

bool is_unavailable(int code, std::string_view message) {
  return (contains(connection_codes, code) || contains(cluster_codes, code) ||
          contains(no_write_codes, code)) &&
         !is_conflict(code, message);
}

std::string described_error(int code, const std::string& message) {
  return "database error " + std::to_string(code) + ": " + message + std::string(remedy(code, message));
}

void throw_database_error(int code, std::string_view state, const std::string& message) {
  const std::string text = described_error(code, message);
  if (is_unavailable(code, message)) throw Unavailable(code, text);
  if (code == lock_timeout_code) throw LockTimeout(code, text);
  if (contains(interrupted_codes, code)) throw Interrupted(code, text);
  if (is_conflict(code, message)) throw Conflict(code, text);
  if (code == duplicate_key_code) throw DuplicateKey(code, text);
  if (is_of_content(code, state)) throw Refused(code, text);
  throw DatabaseError(code, text);
}

}  // namespace store
