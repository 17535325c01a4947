#include "platform/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

#include "platform/text.hpp"

namespace platform {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// sd-daemon(3): the journal reads the priority from the start of the line.
std::string_view journal_prefix(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "<7>";
    case LogLevel::info:
      return "<6>";
    case LogLevel::warning:
      return "<4>";
    case LogLevel::error:
      return "<3>";
  }
  return "<6>";
}

bool under_journal() { return std::getenv("JOURNAL_STREAM") != nullptr; }

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
  std::string line = one_line(message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    line += is_plain(value) ? value : in_quotes(value);
  }
  return line;
}

Log::Log(LogLevel minimum)
    : logger_(std::make_shared<spdlog::logger>("apientidades",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_pattern(under_journal() ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                       spdlog::pattern_time_type::utc);
  logger_->set_level(spdlog_level(minimum));
  logger_->flush_on(spdlog::level::debug);
}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
  if (!logger_->should_log(spdlog_level(level))) return;
  std::string line = under_journal() ? std::string(journal_prefix(level)) : std::string();
  line += format_log_line(message, fields);
  logger_->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
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
