// The log. Where standard error is the journal (JOURNAL_STREAM names it), an event is a journal entry with
// its values as fields: APIENTIDADES_WEBHOOK=4. Elsewhere it is one line on standard error, `level message
// key=value …` (logfmt); under systemd but redirected, a line begins with its priority, `<6>`, and carries no
// time of its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spdlog {
class logger;
}

namespace platform {

/// key=value of a log line. The value is quoted and escaped when it needs it, control characters always: what
/// a client sends cannot forge a line. Never give it a secret, a token or a payload.
struct LogField {
  std::string_view key;
  std::string value;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, std::integral auto v) : key(k), value(std::to_string(v)) {}
};

enum class LogLevel { debug, info, warning, error };

/// A cheap value to copy and to share between threads.
class Log {
 public:
  explicit Log(LogLevel minimum = LogLevel::info);

  /// The same, for a thread that logs much: it does not wait for others.
  Log with_own_lock() const;

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;

 private:
  bool write_to_journal(LogLevel level, std::string_view message,
                        std::initializer_list<LogField> fields) const;
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const;
  std::shared_ptr<spdlog::logger> logger_;
  bool journal_;  // standard error is the journal
};

/// An entry of its own in the journal, wherever standard error goes: what a person did, for example. Nothing
/// happens where there is no journal.
void write_to_journal(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

/// `message key=value …`, as written after the level. Pure, for tests.
std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields);

/// The fields of a journal entry as `NAME=value`: MESSAGE is the whole line, for people; each value follows
/// as APIENTIDADES_<KEY>, escaped like it. Pure, for tests.
std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        std::initializer_list<LogField> fields);

}  // namespace platform
