// The log: one line per event on standard error, `level message key=value …` (logfmt), which the journal
// keeps. Under systemd (JOURNAL_STREAM set) a line begins with its priority, `<6>`, and carries no time of
// its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

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

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;

 private:
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const;
  std::shared_ptr<spdlog::logger> logger_;
};

/// `message key=value …`, as written after the level. Pure, for tests.
std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields);

}  // namespace platform
