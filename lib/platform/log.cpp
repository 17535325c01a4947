#include "lib/platform/log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "lib/platform/clock.hpp"
#include "lib/platform/journal.hpp"
#include "lib/platform/standard_error.hpp"
#include "lib/text/text.hpp"

namespace platform {

namespace {

constexpr std::size_t longest_field = 16'384;  // bytes; a datagram takes about 200,000

struct LevelName {
  char priority;  // of syslog(3)
  std::string_view name;
};

constexpr std::array<LevelName, 4> level_names{
    {{'7', "debug"}, {'6', "info"}, {'4', "warning"}, {'3', "error"}}};

const LevelName& name_of(LogLevel level) { return level_names.at(static_cast<std::size_t>(level)); }

bool under_journal() { return std::getenv("JOURNAL_STREAM") != nullptr; }

/// Whether standard error is the journal stream that JOURNAL_STREAM names, and not redirected elsewhere
/// (systemd.exec(5)).
bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status;
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::string field_name(std::string_view key) {
  std::string name = "APIENTIDADES_";
  for (const char c : key) name += text::upper(c);
  return name;
}

/// Returns what precedes the message in a line of standard error.
std::string line_start(LogLevel level) {
  // sd-daemon(3): the journal reads the priority from the start of the line.
  if (under_journal()) return {'<', name_of(level).priority, '>'};
  return format_iso8601(utc_now()) + ' ' + std::string(name_of(level).name) + ' ';
}

bool is_plain(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || c == '"' || c == '=' || c == '\\') return false;
  }
  return true;
}

}  // namespace

std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = text::one_line(message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    line += is_plain(value) ? value : text::in_quotes(value);
  }
  return line;
}

std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        std::initializer_list<LogField> fields) {
  const auto shortened = [](const std::string& text) { return std::string(text::cut(text, longest_field)); };
  std::vector<std::string> result{shortened("MESSAGE=" + format_log_line(message, fields)),
                                  std::string("PRIORITY=") + name_of(level).priority,
                                  std::string("SYSLOG_IDENTIFIER=") + program_invocation_short_name};
  for (const auto& [key, value] : fields)
    result.push_back(shortened(field_name(key) + "=" + text::one_line(value)));
  return result;
}

/// Where the messages of a log go. No call waits for a reader.
class LogSink {
 public:
  LogSink() {
    if (stderr_is_journal()) journal_.emplace(std::chrono::seconds(0));
  }

  void put(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
    if (!try_put(level, message, fields)) {
      ++lost_;
    } else if (const auto lost = lost_.exchange(0); lost > 0) {
      const bool told = try_put(LogLevel::warning, "messages were lost: the log was not read for a time",
                                {{"messages", lost}});
      if (!told) lost_ += lost;
    }
  }

 private:
  /// Returns false if the message is lost.
  bool try_put(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
    if (journal_ && journal_->send(journal_fields(level, message, fields))) return true;
    return error_.write_line(line_start(level) + format_log_line(message, fields));
  }

  std::optional<Journal> journal_;  // none: standard error is not the journal
  StandardError error_;
  std::atomic<std::uint64_t> lost_ = 0;
};

void write_to_journal(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  Journal(std::chrono::seconds(1)).send(journal_fields(level, message, fields));
}

Log::Log(LogLevel minimum) : minimum_(minimum), sink_(std::make_shared<LogSink>()) {}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
  if (level >= minimum_) sink_->put(level, message, fields);
}

void Log::debug(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::debug, message, fields);
}
void Log::info(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::info, message, fields);
}
void Log::warning(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::warning, message, fields);
}
void Log::error(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::error, message, fields);
}

}  // namespace platform
