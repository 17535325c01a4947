// The log. If standard error is the stream to the journal that JOURNAL_STREAM names, a message is a journal
// entry with its values as fields: APIENTIDADES_WEBHOOK=4. In all other cases, and if journald does not take
// the entry, a message is one line of at most 4 KiB on standard error. Without JOURNAL_STREAM the line is
// `time level message key=value …` (logfmt). With JOURNAL_STREAM it is `<6>message key=value …`, where 6 is
// the priority of an info message in syslog(3).
//
// No message waits for a reader. What a reader that takes nothing loses is counted, and a message says how
// many were lost once it takes one again.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/id.hpp"

namespace platform {

/// A `key=value` of a log line. Values are quoted where needed. Control characters are always escaped, so a
/// client's text cannot forge a line. Never log a secret, a token or a payload.
struct LogField {
  std::string_view key;
  std::string value;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, std::integral auto v) : key(k), value(std::to_string(v)) {}
  template <class Kind>
  LogField(std::string_view k, Id<Kind> id) : key(k), value(to_string(id)) {}
};

class LogSink;

enum class LogLevel { debug, info, warning, error };

/// Cheap to copy and safe to share between threads, which do not wait for each other.
class Log {
 public:
  explicit Log(LogLevel minimum = LogLevel::info);

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;

 private:
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const;
  LogLevel minimum_;
  std::shared_ptr<LogSink> sink_;
};

/// Writes an entry to the journal wherever standard error goes: for the operator's commands, which have a
/// terminal as standard error. Waits up to a second for journald. Does nothing without a journal.
void write_to_journal(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

/// Returns `message key=value …`, the line without time and level. Exposed for tests.
std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields);

/// Returns the fields of a journal entry as `NAME=value`: MESSAGE (as format_log_line), PRIORITY,
/// SYSLOG_IDENTIFIER, and each value as APIENTIDADES_<KEY>, unquoted, with control characters escaped.
/// Exposed for tests.
std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        std::initializer_list<LogField> fields);

}  // namespace platform
